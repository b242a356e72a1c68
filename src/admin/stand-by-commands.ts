import { randomUUID } from 'node:crypto';
import { checkpointPlace } from '../audit/checkpoint-place.ts';
import { administrationStep } from '../audit/audited-request.ts';
import { ageInWords, type StateComparison } from '../audit/compare-state.ts';
import type { Config } from '../config/config.ts';
import type { StateStore } from '../state/state-store.ts';
import type { Logger } from '../telemetry/log.ts';
import { reasonOf } from '../telemetry/reason-of.ts';
import { version } from '../telemetry/version.ts';
import { failedFor } from './answered.ts';
import type { Approvals, WaitingPeer } from './approvals.ts';
import { type AdminAnswer, type AdminRequest, CommandRefused, type Done, NotApproved } from './protocol.ts';
import { comparisonView, confirmState } from './state-commands.ts';
import { apiUrl, notLoaded } from './status.ts';
import type { StatusView } from './views.ts';

/** What is there of a service that cannot serve yet. */
export interface StandingBy {
  readonly store: StateStore;
  readonly config: Config;
  readonly configPath: string;
  readonly startedAt: Date;
  readonly log: Logger;
  /** Where the API listens; undefined before it does. */
  readonly apiAddress: () => string | undefined;
}

export interface StandByContext extends StandingBy {
  readonly comparison: StateComparison;
  /** With `admin.approvals: 2`. */
  readonly approvals?: Approvals | undefined;
  /** Called once the operator has confirmed. */
  readonly confirmed: () => void;
}

/**
 * Advice on a state store that is older than the audit log, to follow the sentence that says so.
 */
export const whatToDo = 'see signetctl state compare, then restore the right store, or accept this one with signetctl state confirm';

/**
 * Executes commands while the state store is older than the audit log: only those that inspect the
 * state or confirm it.
 */
export async function runInStandBy(context: StandByContext, request: AdminRequest, uid: number, peer: WaitingPeer): Promise<AdminAnswer> {
  return answered(context, request, async () => carryOut(context, request, uid, peer));
}

export interface WithoutTokenContext extends StandingBy {
  /** The part that is not ready, and why. */
  readonly fault: () => { readonly part: string; readonly reason: string };
}

/**
 * Executes commands while there is no token host: only `status`, and the record of a command that
 * changes the token's PIN, which the next start writes into the log.
 */
export async function runWithoutToken(context: WithoutTokenContext, request: AdminRequest, uid: number): Promise<AdminAnswer> {
  const { part, reason } = context.fault();
  return answered(context, request, async () => {
    if (request.command === 'status') return { result: await standByStatus(context, { [part]: reason }) };
    if (request.command === 'record command') {
      const { enabled, name } = context.config.audit;
      const entry = { kind: 'administration', request: randomUUID(), uid, command: request.by } as const;
      if (enabled) await context.store.commit([administrationStep(name, entry).step]);
      return { result: null };
    }
    throw new CommandRefused(`signetd waits for its token and does nothing else: ${reason}`);
  });
}

export async function answered({ log }: StandingBy, { command }: AdminRequest, work: () => Promise<Done>): Promise<AdminAnswer> {
  try {
    const { result, notes = [] } = await work();
    return { outcome: 'done', result, notes: [...notes] };
  } catch (error) {
    if (error instanceof CommandRefused) return { outcome: 'refused', faults: [...error.faults] };
    if (error instanceof NotApproved) return { outcome: 'not approved', faults: [error.message] };
    const reason = reasonOf(error);
    log.error('a command of signetctl failed', { command, reason });
    return failedFor(command, reason);
  }
}

async function carryOut(context: StandByContext, request: AdminRequest, uid: number, peer: WaitingPeer): Promise<Done> {
  const { store, config, comparison, log } = context;
  if (request.command === 'status') return { result: await standByStatus(context, { stateAge: `${ageInWords(comparison)}; ${whatToDo}` }) };
  if (request.command === 'state compare') return { result: await comparisonView(store, comparison) };
  if (request.command === 'state confirm') {
    const approval = await context.approvals?.ask({ command: request.command, uid, details: confirmationWords(comparison) }, peer);
    const entry = { kind: 'administration' as const, request: randomUUID(), uid, command: request.command, approval };
    const done = await confirmState(store, config, entry, comparison);
    log.warn('the operator confirmed a state store that is older than the audit log', { uid, records: comparison.last });
    context.confirmed();
    return done;
  }
  throw new CommandRefused(`signetd is waiting for a decision and does nothing else: ${ageInWords(comparison)}; ${whatToDo}`);
}

/** What is approved, in words. */
function confirmationWords({ log, known, last, lacking }: StateComparison): [string, string][] {
  return [
    ['accepts', `a state store that is older than the audit log "${log}"`],
    ['records unknown to it', `${known + 1} to ${last}`],
    ['changes it lacks', `${lacking.length}; signetctl state compare lists them`],
  ];
}

export async function standByStatus(
  { store, config, configPath, startedAt, apiAddress }: StandingBy,
  faults: Readonly<Record<string, string>>,
): Promise<StatusView> {
  return {
    ...{ version: version(), pid: process.pid, started: startedAt.toISOString(), configuration: configPath },
    ...{ notLoaded: notLoaded(configPath, config), lastReload: null, api: apiUrl(config, apiAddress()) },
    tenants: Object.keys(config.tenants).toSorted(),
    limits: [],
    clients: (await store.run('listClients')).length,
    state: config.state.kind === 'sqlite' ? config.state.path : `PostgreSQL at ${config.state.host}, database ${config.state.database}`,
    audit: await unopenedAudit(config.audit),
    ...{ tokenWaitingRequests: 0, keysLeft: [] },
    faults,
    warnings: {},
  };
}

/** What the files of a log say that this process has not opened. */
async function unopenedAudit({ enabled, directory }: Config['audit']): Promise<StatusView['audit']> {
  const place = enabled ? await checkpointPlace(directory).catch(() => undefined) : undefined;
  return {
    ...{ enabled, writable: null, recordsSinceCheckpoint: place?.recordsSince ?? null },
    lastCheckpoint: place?.at === undefined ? null : new Date(place.at).toISOString(),
  };
}
