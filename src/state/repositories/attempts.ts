import { sql, type RawBuilder, type Transaction } from 'kysely';
import type { Schema } from '../schema.ts';
import type { KeyRow } from '../tables/keys.ts';

/** How failures lock a key (contract §6), and the moment at which that is asked. */
export interface LockRule {
  readonly failuresInRow: number;
  readonly lockMs: number;
  /** Without a success: until an operator unlocks the key. */
  readonly failuresSinceSuccess: number;
  /** Milliseconds since epoch. */
  readonly now: number;
}

export type Counters = Pick<KeyRow, 'failures_in_row' | 'failures_since_success' | 'locked_until'>;

const counters = ['failures_in_row', 'failures_since_success', 'locked_until'] as const;

/**
 * Attempts that are with the token now. Those whose time has passed went down with their instance,
 * and nobody learnt their outcome.
 */
const open = (now: number): RawBuilder<number> =>
  sql<number>`(case when reserved_until is null or reserved_until <= ${now} then 0 else reserved end)`;

/** Failures in a row; those before a lock that has ended are forgotten. */
const inRow = (now: number): RawBuilder<number> => sql<number>`(case when locked_until <= ${now} then 0 else failures_in_row end)`;

/** One attempt fewer; nobody waits for the last one. */
const settled = (reserved: boolean): RawBuilder<number> =>
  reserved ? sql<number>`(case when reserved > 0 then reserved - 1 else 0 end)` : sql<number>`reserved`;

/** What an operator does: the key has all its attempts again. Undefined if there is no such key. */
export async function unlockKey(db: Transaction<Schema>, reference: string): Promise<Counters | undefined> {
  return db
    .updateTable('keys')
    .set({ failures_in_row: 0, failures_since_success: 0, locked_until: null })
    .where('reference', '=', reference)
    .returning(counters)
    .executeTakeFirst();
}

/**
 * Reserves an attempt before the token is asked, if the key is in use, is not locked, and has more
 * attempts left than are in flight: so parallel guesses gain nothing, on however many instances. At
 * most `atOnce` are in flight. False otherwise.
 */
export async function reserveAttempt(
  db: Transaction<Schema>,
  {
    reference,
    rule,
    until,
    states,
    atOnce,
  }: { reference: string; rule: LockRule; until: number; states: readonly string[]; atOnce: number },
): Promise<boolean> {
  const { now } = rule;
  const row = await db
    .updateTable('keys')
    .set({ reserved: sql<number>`${open(now)} + 1`, reserved_until: until })
    .where('reference', '=', reference)
    .where('state', 'in', states)
    .where(sql<boolean>`${open(now)} < ${atOnce}`)
    .where(sql<boolean>`(locked_until is null or locked_until <= ${now})`)
    .where(sql<boolean>`${inRow(now)} + ${open(now)} < ${rule.failuresInRow}`)
    .where(sql<boolean>`failures_since_success + ${open(now)} < ${rule.failuresSinceSuccess}`)
    .returning('reference')
    .executeTakeFirst();
  return row !== undefined;
}

/** The service itself failed: the attempt counts for nothing. */
export async function giveBackAttempt(db: Transaction<Schema>, reference: string): Promise<void> {
  await db
    .updateTable('keys')
    .set({ reserved: settled(true) })
    .where('reference', '=', reference)
    .execute();
}

/**
 * Counts a failed attempt and locks the key where the rule says so. Returns the counters as they
 * are now. `reserved`: it had been.
 */
export async function recordFailure(
  db: Transaction<Schema>,
  { reference, rule, reserved }: { reference: string; rule: LockRule; reserved: boolean },
): Promise<Counters> {
  const { now, failuresInRow, lockMs } = rule;
  return db
    .updateTable('keys')
    .set({
      failures_in_row: sql<number>`${inRow(now)} + 1`,
      failures_since_success: sql<number>`failures_since_success + 1`,
      locked_until: sql<number | null>`(case
        when ${inRow(now)} + 1 >= ${failuresInRow} then cast(${now + lockMs} as bigint)
        when locked_until <= ${now} then null
        else locked_until end)`,
      reserved: settled(reserved),
    })
    .where('reference', '=', reference)
    .returning(counters)
    .executeTakeFirstOrThrow();
}

/**
 * What a right secret is right for, as long as it is so: the key is in one of these states, and has
 * this secret still.
 */
export interface Holding {
  readonly states: readonly string[];
  /** Of the key's own secret, where that was the right one. */
  readonly mac: Uint8Array | undefined;
}

/** What is settled with a right secret. */
export interface Success {
  readonly reference: string;
  readonly rule: LockRule;
  readonly reserved: boolean;
  readonly holding: Holding | undefined;
  /** The failures that are counted were guesses at this secret: it ends their count. */
  readonly setsBack: boolean;
}

/**
 * A right secret ends the count of the failures that were guesses at it, unless the key was locked
 * meanwhile. Returns the counters as they are now. With `holding`: undefined, and nothing is done,
 * where the key is locked by now, or the secret is right for nothing any more.
 */
export async function recordSuccess(
  db: Transaction<Schema>,
  { reference, rule, reserved, holding, setsBack }: Success,
): Promise<Counters | undefined> {
  const isLocked = sql<boolean>`(coalesce(locked_until, 0) > ${rule.now} or failures_since_success >= ${rule.failuresSinceSuccess})`;
  const ended = {
    failures_in_row: sql<number>`(case when ${isLocked} then failures_in_row else 0 end)`,
    failures_since_success: sql<number>`(case when ${isLocked} then failures_since_success else 0 end)`,
    locked_until: sql<number | null>`(case when ${isLocked} then locked_until else null end)`,
  };
  let update = db
    .updateTable('keys')
    .set({ ...(setsBack ? ended : {}), reserved: settled(reserved) })
    .where('reference', '=', reference);
  if (holding !== undefined) {
    update = update.where('state', 'in', holding.states).where(sql<boolean>`not ${isLocked}`);
    if (holding.mac !== undefined) update = update.where('secret_mac', '=', holding.mac);
  }
  return update.returning(counters).executeTakeFirst();
}
