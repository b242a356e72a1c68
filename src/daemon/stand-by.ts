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
import type { Draining } from '../service/draining.ts';
import type { ServiceManager } from '../service/service-manager.ts';
import { Watchdog } from '../service/watchdog.ts';
import type { StateStore } from '../state/state-store.ts';
import type { Logger } from '../telemetry/log.ts';
import { processMetrics, type Metrics } from '../telemetry/metrics.ts';
import { listenAll, watchServers } from './listeners.ts';
import type { Parts } from './parts.ts';
import { stopAtSignals } from './stopping.ts';

interface Start {
  readonly config: Config;
  readonly configPath: string;
  readonly startedAt: Date;
  readonly store: StateStore;
  readonly log: Logger;
  readonly manager: ServiceManager;
  /** Those that the service manager holds. */
  readonly sockets: ReadonlyMap<string, number>;
  readonly draining: Draining;
  readonly metrics: Metrics;
  readonly parts: Parts;
}

/**
 * Before anything is done with the state store: one that is older than the audit log would make
 * good again what was revoked since, so nothing is served from it, and nothing in it changes, until
 * an operator confirms it. Returns at once where it is not older; else never: the process ends once
 * it is confirmed, and whoever keeps the service running starts the next one, which goes on from
 * there.
 */
export async function standByWhileOlder(start: Start): Promise<void> {
  const { config, store } = start;
  if (!config.audit.enabled) return;
  const comparison = await compareState(store, config.audit);
  if (comparison.isOlder) await standBy(start, comparison);
}

async function standBy(
  { config, configPath, startedAt, store, log, manager, sockets, draining, metrics, parts }: Start,
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
    { log, audit: noAudit, malformed, tenantOf: () => undefined },
  );
  parts.opened('refusals of the API', apiListener, ({ refusals }) => {
    refusals.stop();
  });
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
  processMetrics(metrics.registry);
  const health = { ready: async () => Promise.resolve({ stateAge: `${age}; ${whatToDo}` }), warnings: () => ({}) };
  const operationsServer = createOperationsServer(health, metrics, config.listeners.operations);
  const servers = { api: apiListener.server, operations: operationsServer, public: publicServer };
  watchServers(servers, { draining, parts });
  const watchdog = new Watchdog(manager, [{ name: 'database thread', check: async () => store.answer() }], (name, reason) => {
    log.error('a part of the service no longer responds', { name, reason });
  });
  const confirmed = Promise.withResolvers<void>();
  const context = { store, config, configPath, startedAt, comparison, log, confirmed: confirmed.resolve };
  const adminSocket = await AdminSocket.open(config.admin, log, async (request, uid) => runInStandBy(context, request, uid));
  parts.opened('admin socket', adminSocket, async () => adminSocket.close());
  const stop = stopAtSignals({
    ...{ log, manager, watchdog, draining, parts },
    drainSeconds: () => config.limits.drainSeconds,
    endAdministration: async () => adminSocket.close(),
  });
  void confirmed.promise.then(stop);
  const { operations } = await listenAll(servers, config.listeners, sockets);
  log.info('waiting for the operator', { operations, admin: config.admin.socketPath });
  watchdog.start();
  // It has come as far as it can by itself: whoever started it need not wait.
  manager.ready(`not ready: ${age}`);
  return new Promise<never>(() => undefined);
}
