import type { Server } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import { openAudit } from './audit/open-audit.ts';
import { checkAuthorityKey, loadAuthority } from './certificates/configured-authority.ts';
import { ClientRegistry } from './clients/registry.ts';
import { ConfigError, loadConfig, type Config } from './config/config.ts';
import type { KeyType } from './config/profile.ts';
import { createApi } from './http/api.ts';
import { callerOf, createMtlsServer } from './http/mtls-listener.ts';
import { createOperationsServer } from './http/operations-listener.ts';
import { tokenCustody } from './keys/custody.ts';
import { Keyring, type KeyringOptions } from './keys/keyring.ts';
import { operations } from './operations/table.ts';
import { openStateStore } from './state/state-store.ts';
import { createLog, type Logger } from './telemetry/log.ts';
import { Metrics } from './telemetry/metrics.ts';
import { outcomeOf, TokenClient } from './token/client/token-client.ts';
import { exitCodes } from './token/host/greeting.ts';
import { PinRefusedError } from './token/token.ts';

const readinessMs = 2000;

/** The daemon: wires the rooms together and decides nothing. */
async function run(config: Config, configPath: string, log: Logger): Promise<void> {
  const store = await openStateStore(config.state, log);
  const metrics = new Metrics();
  const tokenMetrics = metrics.token({ ready: () => token.ready, waiting: () => token.waiting });
  const token = new TokenClient(config.token, configPath, log, (operation, status, waitedMs, tokenMs) => {
    tokenMetrics.served(operation, outcomeOf(status), waitedMs, tokenMs);
  });
  await token.start();
  const authorities = new Map(Object.entries(config.certificateAuthorities).map(([name, files]) => [name, loadAuthority(token, files)]));
  for (const [name, authority] of authorities) {
    await checkAuthorityKey(name, authority);
  }
  const clients = new ClientRegistry(store);
  await clients.load();
  const keys = new Keyring(store, token, tokenCustody(token), {
    ...keyOptions(config),
    pool: { ...metrics.keyPool(), targets: poolTargets(config), isTokenBusy: () => token.waiting > 0, log },
  });
  const { finished, kept } = await keys.recover();
  if (finished > 0) log.warn('finished what an earlier run left open', { keys: finished });
  if (kept.length > 0)
    log.error('the state store asks for the destruction of keys that the configuration names; they stay', { keys: kept });
  keys.destruction.startSweeping((count) => {
    log.warn('finished what another instance left open', { keys: count });
  });
  keys.startPool();
  const audit = await openAudit(config.audit, { store, token, log });

  let draining = false;
  const api = createApi({
    operations,
    signRoot: config.paths.signRoot,
    jsonBodyMaxBytes: config.limits.jsonBodyMaxBytes,
    documentsMax: config.limits.documentsMax,
    log,
    draining: () => draining,
    busySeconds: () => token.busySeconds,
    callerOf: async (request) => callerOf(request, clients),
    audit,
    context: (caller, hasIdempotencyKey, details) => ({ caller, config, keys, token, authorities, hasIdempotencyKey, audit: details }),
  });
  const health = {
    async ready(): Promise<Record<string, string>> {
      const faults: Record<string, string> = draining ? { service: 'it stops' } : {};
      const [authority] = authorities.values();
      // Nobody takes these bytes for a certificate: they are no ASN.1.
      await Promise.all([
        inTime(authority?.sign(Buffer.from('readiness'))).catch(() => {
          faults['token'] = 'it does not sign';
        }),
        inTime(store.run('probe')).catch(() => {
          faults['state'] = 'it takes no writes';
        }),
      ]);
      if (!audit.status.writable) faults['audit'] = 'it takes no records';
      return faults;
    },
  };
  const apiServer = createMtlsServer(config.listeners.api, api, log, audit);
  const operationsServer = createOperationsServer(health, metrics);
  await listen(apiServer, config.listeners.api);
  await listen(operationsServer, config.listeners.operations);
  log.info('ready', { api: config.listeners.api.port, operations: config.listeners.operations.port });

  const stop = async (): Promise<void> => {
    if (draining) return;
    draining = true;
    log.info('stopping');
    const closed = Promise.all([close(apiServer), close(operationsServer)]);
    const timer = setTimeout(() => {
      apiServer.closeAllConnections();
      operationsServer.closeAllConnections();
    }, config.limits.drainSeconds * 1000);
    await closed;
    clearTimeout(timer);
    keys.stopPool();
    keys.destruction.stopSweeping();
    await audit.stop();
    await token.stop();
    await store.close();
    log.info('stopped');
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop());
}

/** A call that ran into its time is sent once more; what takes longer than both went down with its instance. */
function keyOptions({ certificateAuthorities, state, token }: Config): KeyringOptions {
  const attemptMaxMs = 2 * 1000 * token.callTimeoutSeconds + 30_000;
  const configured = Object.values(certificateAuthorities).map(({ keyId }) => keyId);
  const attemptWaitMs = 1000 * token.callTimeoutSeconds;
  return {
    configured,
    attemptMaxMs,
    attemptWaitMs,
    ...(state.kind === 'sqlite' ? {} : { abandonedMs: 1000 * state.abandonedStepSeconds }),
  };
}

/** Keys are made ahead of the types that tenants' profiles ask for. */
function poolTargets({ tenants, keyPool }: Config): ReadonlyMap<KeyType, number> {
  const types = Object.values(tenants).map(({ profile }) => profile.keyType);
  return new Map(types.map((type) => [type, keyPool.keysByType[type] ?? keyPool.keys]));
}

/** Whoever asks whether the service is ready wants to know soon. */
async function inTime(work: Promise<unknown> | undefined): Promise<void> {
  const late = delay(readinessMs, undefined, { ref: false }).then(() => {
    throw new Error('no answer in time');
  });
  await Promise.race([work, late]);
}

async function listen(server: Server, { host, port }: { readonly host: string; readonly port: number }): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

/** Finishes the requests that run; idle connections are closed at once. */
async function close(server: Server): Promise<void> {
  await new Promise<void>((resolve) => {
    server.close(() => {
      resolve();
    });
    server.closeIdleConnections();
  });
}

const { values } = parseArgs({ options: { config: { type: 'string', default: '/etc/signetd/signetd.yaml' } } });
// State, sockets and logs are for this user alone.
process.umask(0o077);
try {
  const config = loadConfig(values.config);
  const log = createLog(config.log.level);
  process.on('unhandledRejection', (error) => {
    log.error('a promise was not waited for', { error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  });
  await run(config, values.config, log);
} catch (error) {
  const text = error instanceof Error ? error.message : String(error);
  process.stderr.write(`signetd cannot start: ${text}\n`);
  process.exit(error instanceof PinRefusedError ? exitCodes.pinRefused : error instanceof ConfigError ? 78 : 1);
}
