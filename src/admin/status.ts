import type { RunningAudit } from '../audit/open-audit.ts';
import { changedMembers } from '../config/changes.ts';
import { loadConfig, type Config } from '../config/config.ts';
import { LimitsInForce } from '../config/limits-in-force.ts';
import type { Reloader } from '../config/reloader.ts';
import type { Health } from '../http/health-listener.ts';
import type { Keyring } from '../keys/keyring.ts';
import type { StateStore } from '../state/state-store.ts';
import { version } from '../telemetry/version.ts';
import { unusableFile, type StatusView } from './views.ts';

export interface StatusSources {
  readonly store: StateStore;
  readonly audit: RunningAudit;
  readonly health: Health;
  readonly reloader: Reloader;
  readonly configPath: string;
  readonly startedAt: Date;
  /**
   * Where the API listens, which may be a socket of the service manager; undefined before it does.
   */
  apiAddress(): string | undefined;
  readonly token: { readonly waiting: number };
  readonly keys: Keyring;
}

/** The state of a service that serves: its audit log is open. */
type ServingView = StatusView & { readonly audit: { readonly writable: boolean; readonly recordsSinceCheckpoint: number } };

/**
 * Returns the state of the service. Like the readiness check, it tests the token with a signature
 * and the state store with a write.
 */
export async function statusView(sources: StatusSources): Promise<ServingView> {
  const { store, audit, health, reloader, token, keys } = sources;
  const { config, last } = reloader;
  const faults = { ...(await health.ready()) };
  const clients = await store.run('listClients').catch(() => {
    faults['state'] = 'it cannot be read';
    return [];
  });
  const { writable, lastCheckpointAt, recordsSinceCheckpoint } = audit.status;
  return {
    version: version(),
    pid: process.pid,
    started: sources.startedAt.toISOString(),
    configuration: sources.configPath,
    notLoaded: notLoaded(sources.configPath, config),
    lastReload: last === undefined ? null : { at: new Date(last.at).toISOString(), faults: [...last.faults] },
    api: apiUrl(config, sources.apiAddress()),
    tenants: Object.keys(config.tenants).toSorted(),
    limits: tenantLimits(config),
    clients: clients.length,
    state: config.state.kind === 'sqlite' ? config.state.path : `PostgreSQL at ${config.state.host}, database ${config.state.database}`,
    audit: {
      enabled: config.audit.enabled,
      writable,
      lastCheckpoint: lastCheckpointAt === undefined ? null : new Date(lastCheckpointAt).toISOString(),
      recordsSinceCheckpoint,
    },
    tokenWaitingRequests: token.waiting,
    keysLeft: keys.destruction.left.map(({ id, reason }) => ({ tokenId: id, reason })),
    faults,
    warnings: { ...health.warnings() },
  };
}

/** Returns the URL of the API. `address`: where it listens; undefined before it does. */
export function apiUrl({ listeners }: Config, address: string | undefined): string {
  const { host, port } = listeners.api;
  return `https://${address ?? `${host.includes(':') ? `[${host}]` : host}:${port}`}`;
}

/** Returns the limits in force of each tenant. */
function tenantLimits(config: Config): StatusView['limits'] {
  const limits = new LimitsInForce(config);
  return Object.keys(config.tenants)
    .toSorted()
    .map((tenant) => {
      const { rate, ...others } = limits.ofTenant(tenant);
      const { requestsPerSecond = null, requestsBurst = null } = rate ?? {};
      const clients = limits.named
        .filter((one) => one.tenant === tenant)
        .map(({ name }) => ({ client: name, ...limits.ofClient({ tenant, name }) }));
      return { tenant, requestsPerSecond, requestsBurst, ...others, perClient: limits.ofOthers(tenant), clients };
    });
}

/**
 * Returns the members in which the file differs from the running configuration. `config check`
 * explains an unusable file.
 */
export function notLoaded(path: string, config: Config): string[] {
  try {
    return changedMembers(config, loadConfig(path));
  } catch {
    return [unusableFile];
  }
}
