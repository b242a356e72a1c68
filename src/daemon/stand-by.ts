import { setTimeout as delay } from 'node:timers/promises';
import type { RunCommand } from '../admin/admin-socket.ts';
import type { Approvals } from '../admin/approvals.ts';
import { runInStandBy, runWithoutToken, whatToDo } from '../admin/stand-by-commands.ts';
import { noAudit } from '../audit/audit.ts';
import { ageInWords, compareState } from '../audit/compare-state.ts';
import type { Config } from '../config/config.ts';
import { MalformedRequests } from '../http/limits/malformed.ts';
import { createOperationsServer } from '../http/health-listener.ts';
import { Problem, sendProblem } from '../http/problem.ts';
import { createPublicServer } from '../http/public/public-listener.ts';
import type { Draining } from '../service/draining.ts';
import { addressOf } from '../service/listen.ts';
import type { ServiceManager } from '../service/service-manager.ts';
import { Watchdog, type VitalSign } from '../service/watchdog.ts';
import type { StateStore } from '../state/state-store.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { readinessMetrics } from '../telemetry/readiness-metrics.ts';
import type { TokenClient } from '../token/client/token-client.ts';
import type { TokenUnavailable } from '../token/token.ts';
import { loggedIn, openAdministration, openApprovals } from './administration.ts';
import { standByMetrics } from './early-metrics.ts';
import { listenAll, openApiListener, watchServers } from './listeners.ts';
import type { Parts } from './parts.ts';
import { stopAtSignals } from './stopping.ts';

const tokenPollMs = 200;
const failedExitCode = 1;

/** What a service that does not serve yet needs. */
interface Surroundings {
  readonly config: Config;
  readonly log: Logger;
  readonly manager: ServiceManager;
  /** Those that the service manager holds. */
  readonly sockets: ReadonlyMap<string, number>;
  readonly draining: Draining;
  readonly metrics: Metrics;
  readonly parts: Parts;
}

export interface Start extends Surroundings {
  readonly configPath: string;
  readonly startedAt: Date;
  readonly store: StateStore;
}

/** What the service waits for before it can serve anybody. */
interface Waiting {
  /** For callers and strangers: that it waits, and not why. */
  readonly refusal: string;
  /** The part that is not ready, and why at this moment. */
  readonly fault: () => { readonly part: string; readonly reason: string };
  /**
   * Returns what executes commands of signetctl; `apiAddress`: where the API listens, once it does.
   * Undefined: signetctl is to find no service.
   */
  readonly run?: (apiAddress: () => string | undefined) => RunCommand;
  /** With `admin.approvals: 2`, where something must be confirmed. */
  readonly approvals?: Approvals | undefined;
  /** Resolves when the next process can go on, with the exit code of this one. */
  readonly over: Promise<number>;
  readonly vitalSigns: readonly VitalSign[];
}

/**
 * Before anything is done with the state store: one that is older than the audit log would make
 * good again what was revoked since, so nothing is served from it, and nothing in it changes, until
 * an operator confirms it. Returns at once where it is not older; else never: the process ends once
 * it is confirmed, and whoever keeps the service running starts the next one, which goes on from
 * there.
 */
export async function standByWhileOlder(start: Start): Promise<void> {
  const { config, store, log } = start;
  if (!config.audit.enabled) return;
  const comparison = await compareState(store, config.audit);
  if (!comparison.isOlder) return;
  const age = ageInWords(comparison);
  log.error('the service is not ready until an operator decides', { reason: age, todo: whatToDo });
  const approvals = openApprovals(config.admin, loggedIn(log));
  const confirmed = Promise.withResolvers<number>();
  const context = {
    ...start,
    comparison,
    approvals,
    confirmed: () => {
      confirmed.resolve(0);
    },
  };
  await standBy(start, {
    refusal: 'the service waits for its operator',
    fault: () => ({ part: 'stateAge', reason: `${age}; ${whatToDo}` }),
    run: (apiAddress) => async (request, uid, peer) => runInStandBy({ ...context, apiAddress }, request, uid, peer),
    approvals,
    over: confirmed.promise,
    vitalSigns: [databaseThread(store)],
  });
}

/**
 * Waits for a token host that the service manager starts. It does not give up: the next start of this
 * process would have the manager start a host again that has ended for good, since its token refused
 * the PIN. Never returns: the process ends once a host serves, and the next one goes on from there.
 */
export async function standByWithoutToken(start: Start, token: TokenClient, cause: TokenUnavailable): Promise<never> {
  const { log } = start;
  const reason = (): string => token.hostFault ?? cause.message;
  const fault = (): { part: string; reason: string } => ({ part: 'token', reason: reason() });
  log.error('the service is not ready until the token can be used', { reason: reason() });
  return standBy(start, {
    refusal: 'the service waits for its token',
    fault,
    run: (apiAddress) => async (request, uid) => runWithoutToken({ ...start, fault, apiAddress }, request, uid),
    over: serving(token),
    vitalSigns: [databaseThread(start.store)],
  });
}

async function serving(token: TokenClient): Promise<number> {
  while (!token.ready) await delay(tokenPollMs);
  return 0;
}

/**
 * Waits after a failed start, and tells callers and health checks meanwhile. Never returns: the process
 * ends as one that failed, for the service manager to start the next.
 * @throws {Error} where nobody can be told
 */
export async function standByAfterFailure(surroundings: Surroundings, reason: string, seconds: number): Promise<never> {
  const next = new Date(Date.now() + 1000 * seconds).toISOString();
  return standBy(surroundings, {
    refusal: 'the service cannot start',
    fault: () => ({ part: 'start', reason: `${reason}; the next attempt is at ${next}` }),
    over: delay(1000 * seconds, failedExitCode),
    vitalSigns: [],
  });
}

export function databaseThread(store: StateStore): VitalSign {
  return { name: 'database thread', check: async () => store.answer() };
}

export async function standBy({ config, log, manager, sockets, draining, metrics, parts }: Surroundings, waiting: Waiting): Promise<never> {
  const refused = (): Problem => new Problem(503, waiting.refusal, { headers: { 'Retry-After': '60', Connection: 'close' } });
  const requests = standByMetrics(metrics.registry, config, log);
  const malformed = new MalformedRequests();
  const apiListener = openApiListener(
    config,
    (request, response) => {
      malformed.follow(request, response);
      const problem = refused();
      requests.problem(problem.status);
      sendProblem(response, problem);
    },
    // Nobody is served, so nobody's place is kept.
    { parts, metrics, log, audit: noAudit, malformed, registered: () => undefined },
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
  const faults = (): Record<string, string> => {
    const { part, reason } = waiting.fault();
    return { [part]: reason };
  };
  const health = { ready: async () => Promise.resolve(faults()), warnings: () => ({}) };
  readinessMetrics(metrics.registry, async () => health.ready());
  const operationsServer = createOperationsServer(health, metrics, config.listeners.operations);
  const servers = { api: apiListener.server, operations: operationsServer, public: publicServer };
  watchServers(servers, { draining, parts });
  const watchdog = new Watchdog(manager, waiting.vitalSigns, (name, reason) => {
    log.error('a part of the service no longer responds', { name, reason });
  });
  const { approvals } = waiting;
  const run = waiting.run?.(() => (apiListener.server.listening ? addressOf(apiListener.server) : undefined));
  const adminSocket = run === undefined ? undefined : await openAdministration(config.admin, { log, parts, run, approvals });
  const stop = stopAtSignals({
    ...{ log, manager, watchdog, draining, parts },
    drainSeconds: () => config.limits.drainSeconds,
    endAdministration: async () => adminSocket?.close(),
  });
  const { operations } = await listenAll(servers, config.listeners, sockets);
  log.info(waiting.refusal, { operations, ...(adminSocket === undefined ? {} : { admin: config.admin.socketPath }) });
  watchdog.start();
  // It has come as far as it can by itself: whoever started it need not wait.
  manager.ready(`not ready: ${waiting.fault().reason}`);
  void waiting.over.then(stop);
  return new Promise<never>(() => undefined);
}
