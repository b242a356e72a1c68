import { sql, type RawBuilder, type Transaction } from 'kysely';
import type { Schema } from '../schema.ts';
import type { KeyRow } from '../tables/keys.ts';

/** The rule by which failures lock a key (contract §6), and the time at which it is applied. */
export interface LockRule {
  readonly failuresInRow: number;
  readonly lockMs: number;
  /** Failures without a success that lock the key until an operator unlocks it. */
  readonly failuresSinceSuccess: number;
  /** Milliseconds since epoch. */
  readonly now: number;
}

/** The tables of keys that have secrets. Both name a row by its `reference`. */
export type KeyTable = 'keys' | 'identity_keys';

/** A key with a secret. */
export interface CountedKey {
  readonly reference: string;
  /** Default: callers' keys. */
  readonly table?: KeyTable | undefined;
}

export type Counters = Pick<KeyRow, 'failures_in_row' | 'failures_since_success' | 'locked_until'>;

const counters = ['failures_in_row', 'failures_since_success', 'locked_until'] as const;

/** Attempts that are with the token now. Expired ones were lost with their instance. */
const open = (now: number): RawBuilder<number> =>
  sql<number>`(case when reserved_until is null or reserved_until <= ${now} then 0 else reserved end)`;

/** Failures in a row; those before an expired lock are not counted. */
const inRow = (now: number): RawBuilder<number> => sql<number>`(case when locked_until <= ${now} then 0 else failures_in_row end)`;

/** One reserved attempt fewer. */
const settled = (reserved: boolean): RawBuilder<number> =>
  reserved ? sql<number>`(case when reserved > 0 then reserved - 1 else 0 end)` : sql<number>`reserved`;

/**
 * Unlocks a key for an operator: it has all its attempts again. Undefined if there is no such key.
 */
export async function unlockKey(db: Transaction<Schema>, { reference, table = 'keys' }: CountedKey): Promise<Counters | undefined> {
  return db
    .updateTable(table)
    .set({ failures_in_row: 0, failures_since_success: 0, locked_until: null })
    .where('reference', '=', reference)
    .returning(counters)
    .executeTakeFirst();
}

/**
 * Reserves an attempt before the token is asked, if the key is in use, is not locked, and has more
 * attempts left than are in flight: parallel guesses gain nothing, however many instances there
 * are. At most `atOnce` are in flight. Returns false otherwise.
 */
export async function reserveAttempt(
  db: Transaction<Schema>,
  {
    reference,
    table = 'keys',
    rule,
    until,
    states,
    atOnce,
  }: CountedKey & { rule: LockRule; until: number; states: readonly string[]; atOnce: number },
): Promise<boolean> {
  const { now } = rule;
  const row = await db
    .updateTable(table)
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

/** Gives an attempt back after a fault of the service itself. */
export async function giveBackAttempt(db: Transaction<Schema>, { reference, table = 'keys' }: CountedKey): Promise<void> {
  await db
    .updateTable(table)
    .set({ reserved: settled(true) })
    .where('reference', '=', reference)
    .execute();
}

/**
 * Counts a failed attempt, locks the key if the rule says so, and returns the new counters.
 * `reserved`: the attempt had been reserved.
 */
export async function recordFailure(
  db: Transaction<Schema>,
  { reference, table = 'keys', rule, reserved }: CountedKey & { rule: LockRule; reserved: boolean },
): Promise<Counters> {
  const { now, failuresInRow, lockMs } = rule;
  return db
    .updateTable(table)
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
 * The conditions under which a right secret counts: the key is in one of these states, and still
 * has this secret.
 */
export interface Holding {
  readonly states: readonly string[];
  /** MAC of the key's own secret, if that was the right one. */
  readonly mac: Uint8Array | undefined;
}

/** Data to settle a right secret. */
export interface Success extends CountedKey {
  readonly rule: LockRule;
  readonly reserved: boolean;
  readonly holding: Holding | undefined;
  /** True if the counted failures were guesses at this secret, which then resets the count. */
  readonly setsBack: boolean;
}

/**
 * Resets the count of failures that were guesses at the right secret, unless the key was locked
 * meanwhile. Returns the new counters. With `holding`: does nothing and returns undefined if the
 * key is locked by now, or the conditions no longer hold.
 */
export async function recordSuccess(
  db: Transaction<Schema>,
  { reference, table = 'keys', rule, reserved, holding, setsBack }: Success,
): Promise<Counters | undefined> {
  const isLocked = sql<boolean>`(coalesce(locked_until, 0) > ${rule.now} or failures_since_success >= ${rule.failuresSinceSuccess})`;
  const ended = {
    failures_in_row: sql<number>`(case when ${isLocked} then failures_in_row else 0 end)`,
    failures_since_success: sql<number>`(case when ${isLocked} then failures_since_success else 0 end)`,
    locked_until: sql<number | null>`(case when ${isLocked} then locked_until else null end)`,
  };
  let update = db
    .updateTable(table)
    .set({ ...(setsBack ? ended : {}), reserved: settled(reserved) })
    .where('reference', '=', reference);
  if (holding !== undefined) {
    update = update.where('state', 'in', holding.states).where(sql<boolean>`not ${isLocked}`);
    const { mac } = holding;
    if (mac !== undefined)
      update = update.where((where) => where.or([where('secret_mac', '=', mac), where('secret_former_mac', '=', mac)]));
  }
  return update.returning(counters).executeTakeFirst();
}
