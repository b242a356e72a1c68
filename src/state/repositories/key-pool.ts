import type { Transaction } from 'kysely';
import { isPostgresql } from '../migrations/dialect.ts';
import type { Schema } from '../schema.ts';
import type { KeyPoolRow } from '../tables/token-keys.ts';
import { announce, finishCreation } from './key-journal.ts';

/** Adds a key to the pool. @throws as `finishCreation` */
export async function fillPool(db: Transaction<Schema>, row: KeyPoolRow): Promise<void> {
  await finishCreation(db, row.key_id);
  await db.insertInto('key_pool').values(row).execute();
}

/**
 * Takes the oldest key of a type, whose state is then that of a key being created: a crash before
 * it has an owner destroys it. So each key is handed out once.
 */
export async function takeFromPool(
  db: Transaction<Schema>,
  { keyType, now }: { keyType: string; now: number },
): Promise<KeyPoolRow | undefined> {
  const oldest = db.selectFrom('key_pool').selectAll().where('key_type', '=', keyType).orderBy('created_at').orderBy('key_id').limit(1);
  const row = await (isPostgresql(db) ? oldest.forUpdate().skipLocked() : oldest).executeTakeFirst();
  if (row === undefined) return undefined;
  await db.deleteFrom('key_pool').where('key_id', '=', row.key_id).execute();
  await announce(db, { key_id: row.key_id, intent: 'CREATE', created_at: now });
  return row;
}

export async function poolLevels(db: Transaction<Schema>): Promise<{ key_type: string; keys: number }[]> {
  const rows = await db
    .selectFrom('key_pool')
    .select(['key_type', ({ fn }) => fn.countAll<number | string>().as('keys')])
    .groupBy('key_type')
    .execute();
  return rows.map(({ key_type, keys }) => ({ key_type, keys: Number(keys) }));
}

/** Returns the CKA_ID of each key in the pool. */
export async function poolKeys(db: Transaction<Schema>): Promise<string[]> {
  const rows = await db.selectFrom('key_pool').select('key_id').orderBy('key_id').execute();
  return rows.map((row) => row.key_id);
}
