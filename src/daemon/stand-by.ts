import { AdminSocket } from '../admin/admin-socket.ts';
import { runInStandBy, whatToDo } from '../admin/stand-by-commands.ts';
import { noAudit } from '../audit/audit.ts';
import { ageInWords, compareState, type StateComparison } from '../audit/compare-state.ts';
import type { Config } from '../config/config.ts';
import { MalformedRequests } from '../http/limits/malformed.ts';
import { createApiListener } from '../http/tls/mtls-listener.ts';
import { createOperationsServer } from '../http/health-listener.ts';
import { Problem, sendProblem } from '../http/problem.ts';
import { createPublicServer } from '../http/public/public-listener.ts';
import { Draining } from '../service/draining.ts';
import { addressOf, listen } from '../service/listen.ts';
import type { ServiceManager } from '../service/service-manager.ts';
import { Watchdog } from '../service/watchdog.ts';
import type { StateStore } from '../state/state-store.ts';
import type { Logger } from '../telemetry/log.ts';
import { Metrics, processMetrics } from '../telemetry/metrics.ts';
import { stopService } from './stopping.ts';

interface Parts {
  readonly config: Config;
  readonly configPath: string;
  readonly startedAt: Date;
  readonly store: StateStore;
  readonly log: Logger;
  readonly manager: ServiceManager;
  /** Those that the service manager holds. */
  readonly sockets: ReadonlyMap<string, number>;
}

/**
 * Before anything is done with the state store: one that is older than the audit log would make good again what was revoked since, so nothing is served from
 * it, and nothing in it changes, until an operator confirms it. Returns at once where it is not older; else never: the process ends once it is confirmed, and
 * whoever keeps the service running starts the next one, which goes on from there.
 */
export async function standByWhileOlder(parts: Parts): Promise<void> {
  const { config, store } = parts;
  if (!config.audit.enabled) return;
  const comparison = await compareState(store, config.audit);
  if (comparison.isOlder) await standBy(parts, comparison);
}

async function standBy(
  { config, configPath, startedAt, store, log, manager, sockets }: Parts,
  comparison: StateComparison,
): Promise<never> {
  const age = ageInWords(comparison);
  log.error('the service is not ready until an operator decides', { reason: age, todo: whatToDo });
  // Callers and strangers learn that it waits, and not for what.
  const refused = (): Problem =>
    new Problem(503, 'the service waits for its operator', { headers: { 'Retry-After': '60', Connection: 'close' } });
  const malformed = new MalformedRequests();
  const apiListener = createApiListener(
    config.listeners.api,
    config.limits,
    (request, response) => {
      malformed.follow(request, response);
      sendProblem(response, refused());
    },
    // Nobody is served, so nobody's place is kept.
    { log, audit: noAudit, malformed, isRegistered: () => false },
  );
  const publicServer =
    config.listeners.public === undefined
      ? undefined
      : createPublicServer(
          config.listeners.public,
          [
            (_request, response) => {
              sendProblem(response, refused());
              return true;
            },
          ],
          { closed: () => undefined },
        );
  const metrics = new Metrics();
  processMetrics(metrics.registry);
  const health = { ready: async () => Promise.resolve({ stateAge: `${age}; ${whatToDo}` }), warnings: () => ({}) };
  const operationsServer = createOperationsServer(health, metrics, config.listeners.operations);
  const draining = new Draining([apiListener.server, operationsServer, ...(publicServer === undefined ? [] : [publicServer])]);
  const watchdog = new Watchdog(manager, [{ name: 'database thread', check: async () => store.answer() }], (name, reason) => {
    log.error('a part of the service is dead', { name, reason });
  });
  const context = { store, config, configPath, startedAt, comparison, log, confirmed: () => void stop() };
  const adminSocket = await AdminSocket.open(config.admin, log, async (request, uid) => runInStandBy(context, request, uid));
  const stop = async (): Promise<void> =>
    stopService({
      ...{ log, manager, watchdog, draining },
      drainSeconds: () => config.limits.drainSeconds,
      endAdministration: async () => adminSocket.close(),
      closings: [
        () => {
          apiListener.refusals.stop();
        },
        async () => store.close(),
      ],
    });
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop());
  await listen(apiListener.server, config.listeners.api, sockets.get('api'));
  await listen(operationsServer, config.listeners.operations, sockets.get('operations'));
  if (publicServer !== undefined && config.listeners.public !== undefined)
    await listen(publicServer, config.listeners.public, sockets.get('public'));
  log.info('waiting for the operator', { operations: addressOf(operationsServer), admin: config.admin.socketPath });
  watchdog.start();
  // It has come as far as it can by itself: whoever started it need not wait.
  manager.ready(`not ready: ${age}`);
  return new Promise<never>(() => undefined);
}
