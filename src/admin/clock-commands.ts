import { randomUUID } from 'node:crypto';
import { administrationStep } from '../audit/audited-request.ts';
import type { StateStore } from '../state/state-store.ts';
import type { Approvals, WaitingPeer } from './approvals.ts';
import { type AdminAnswer, type AdminRequest, CommandRefused } from './protocol.ts';
import { answered, standByStatus, type StandingBy } from './stand-by-commands.ts';
import type { ClockConfirmedView } from './views.ts';

const confirmation = 'clock confirm';
/** The place in the outbox of a log has room for more records than a start leaves in it. */
const recordsMax = 10_000;

export interface ClockContext extends StandingBy {
  /** Time of the newest audit record, in milliseconds since the epoch. */
  readonly newestRecordAt: number;
  readonly reason: () => string;
  /** With `admin.approvals: 2`. */
  readonly approvals?: Approvals | undefined;
  /** Called once the operator has confirmed. */
  readonly confirmed: () => void;
}

/** Executes commands while the clock is behind the audit log: only those that inspect this or accept it. */
export async function runWhileClockIsBehind(
  context: ClockContext,
  request: AdminRequest,
  uid: number,
  peer: WaitingPeer,
): Promise<AdminAnswer> {
  return answered(context, request, async () => {
    const { store, config, log, newestRecordAt } = context;
    if (request.command === 'status') return { result: await standByStatus(context, { clock: context.reason() }) };
    if (request.command !== confirmation)
      throw new CommandRefused(`signetd waits for the right time and does nothing else: ${context.reason()}`);
    const newestRecord = new Date(newestRecordAt).toISOString();
    const details = [
      ['accepts', 'a clock that is behind the newest audit record'],
      ['record of', newestRecord],
    ] as const;
    const approval = await context.approvals?.ask({ command: confirmation, uid, details }, peer);
    const entry = { kind: 'administration', request: randomUUID(), uid, command: confirmation, approval } as const;
    await store.commit([administrationStep(config.audit.name, { ...entry, newestRecord }).step]);
    log.warn('the operator confirmed a clock that is behind the newest audit record', { uid, newestRecord });
    context.confirmed();
    return { result: { newestRecord, clock: new Date().toISOString() } satisfies ClockConfirmedView };
  });
}

/**
 * Whether an operator has confirmed the clock since the last record: the confirmation is in the outbox
 * until the next start writes it, with the time of the clock.
 */
export async function isClockConfirmed(store: Pick<StateStore, 'run'>, log: string): Promise<boolean> {
  const rows = await store.run('listAuditRecords', { limit: recordsMax, idPrefix: `${log}:` });
  return rows.some(({ record }) => commandOf(record) === confirmation);
}

function commandOf(record: string): unknown {
  try {
    const parsed: unknown = JSON.parse(record);
    return typeof parsed === 'object' && parsed !== null && 'command' in parsed ? parsed.command : undefined;
  } catch {
    return undefined;
  }
}
