import { sql, type Transaction } from 'kysely';
import { isPostgresql } from '../migrations/dialect.ts';
import type { Schema } from '../schema.ts';
import type { ServiceKeyRow } from '../tables/token-keys.ts';
import { finishCreation, noteDestruction } from './key-journal.ts';
import { findServiceKey } from './service-keys.ts';

const purpose = 'kept answers';
/**
 * A former key is listed under its purpose and its own name while something sealed with it is left.
 */
const formerPrefix = `${purpose}, former: `;

/**
 * The keys on the token that kept answers and sessions are sealed with. Times are milliseconds
 * since epoch.
 */
export interface StoredSealingKeys {
  /** CKA_ID; undefined before the first one is made. */
  readonly current: string | undefined;
  /** When it was made. */
  readonly since: number | undefined;
  /** Replaced keys with something left, the newest first. `since`: when they were replaced. */
  readonly former: readonly { readonly keyId: string; readonly since: number }[];
}

export async function sealingKeys(db: Transaction<Schema>): Promise<StoredSealingKeys> {
  const rows = await db
    .selectFrom('service_keys')
    .selectAll()
    .where((where) => where.or([where('purpose', '=', purpose), where('purpose', 'like', `${formerPrefix}%`)]))
    .orderBy('created_at', 'desc')
    .orderBy('key_id')
    .execute();
  const current = rows.find((row) => row.purpose === purpose);
  const former = rows.filter((row) => row.purpose !== purpose);
  return {
    ...{ current: current?.key_id, since: current?.created_at },
    former: former.map(({ key_id: keyId, created_at: since }) => ({ keyId, since })),
  };
}

/**
 * Puts a new key in the place of `replaces`, which stays for what it sealed, and ends the journal
 * entry of the new one; unless another instance was faster. Returns the key in force.
 * @throws as `finishCreation`
 */
export async function replaceSealingKey(
  db: Transaction<Schema>,
  { keyId, replaces, now }: { keyId: string; replaces: string; now: number },
): Promise<string> {
  const row = { key_id: keyId, created_at: now };
  const replaced = await db
    .updateTable('service_keys')
    .set(row)
    .where('purpose', '=', purpose)
    .where('key_id', '=', replaces)
    .returning('key_id')
    .executeTakeFirst();
  if (replaced === undefined) return (await findServiceKey(db, purpose)) ?? replaces;
  const former: ServiceKeyRow = { purpose: formerPrefix + replaces, key_id: replaces, created_at: now };
  await db.insertInto('service_keys').values(former).execute();
  await finishCreation(db, keyId);
  return keyId;
}

/**
 * Whether new rows are sealed with this key. It stays so until this transaction has ended: a
 * replacement waits for it, and what began before a replacement is run again.
 */
export async function isSealingKey(db: Transaction<Schema>, keyId: string): Promise<boolean> {
  const current = db.selectFrom('service_keys').select('key_id').where('purpose', '=', purpose);
  const row = await (isPostgresql(db) ? current.forShare() : current).executeTakeFirst();
  // There is none in tests of the store alone.
  return row === undefined || row.key_id === keyId;
}

/** What a former key has sealed and is not deleted yet. */
export interface SealedCounts {
  /** Kept answers, and requests that are running. */
  readonly answers: number;
  readonly sessions: number;
  /** When the last one ends, in milliseconds since epoch; undefined if there is none. */
  readonly lastEnds: number | undefined;
}

/** Counts what a key has sealed. Rows that do not say so are of a former key. */
export async function countSealed(db: Transaction<Schema>, keyId: string): Promise<SealedCounts> {
  const of = async (table: 'kept_answers' | 'signature_sessions'): Promise<{ count: number; last: number }> => {
    const row = await db
      .selectFrom(table)
      .select(sql<number | string>`count(*)`.as('count'))
      .select(sql<number | string | null>`max(ends_at)`.as('last'))
      .where((where) => where.or([where('sealed_by', '=', keyId), where('sealed_by', 'is', null)]))
      .executeTakeFirstOrThrow();
    return { count: Number(row.count), last: Number(row.last ?? 0) };
  };
  const [answers, sessions] = [await of('kept_answers'), await of('signature_sessions')];
  const lastEnds = Math.max(answers.last, sessions.last);
  return { answers: answers.count, sessions: sessions.count, lastEnds: lastEnds === 0 ? undefined : lastEnds };
}

/**
 * Announces the destruction of a former key, once nothing is left that it sealed. Returns false if
 * something is.
 */
export async function endSealingKey(db: Transaction<Schema>, { keyId, now }: { keyId: string; now: number }): Promise<boolean> {
  const { answers, sessions } = await countSealed(db, keyId);
  if (answers + sessions > 0) return false;
  const row = await db
    .deleteFrom('service_keys')
    .where('purpose', '=', formerPrefix + keyId)
    .returning('key_id')
    .executeTakeFirst();
  if (row === undefined) return false;
  await noteDestruction(db, keyId, now);
  return true;
}
