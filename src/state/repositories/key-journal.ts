import { randomUUID } from 'node:crypto';
import type { Transaction } from 'kysely';
import { Fault } from '../../faults.ts';
import type { Schema } from '../schema.ts';
import type { KeyJournalRow } from '../tables/token-keys.ts';

/** Announces a step on the token, so that a crash during the step is noticed afterwards. */
export async function announce(db: Transaction<Schema>, entry: KeyJournalRow): Promise<void> {
  await db.insertInto('key_journal').values(entry).execute();
}

export async function journal(db: Transaction<Schema>): Promise<KeyJournalRow[]> {
  return db.selectFrom('key_journal').selectAll().execute();
}

/**
 * Takes over steps that began before a given time: their keys are to be destroyed. From this commit
 * on, the instance that began to create one of them can no longer finish it.
 */
export async function takeOverSteps(db: Transaction<Schema>, { begunBefore }: { begunBefore: number }): Promise<string[]> {
  const rows = await db
    .updateTable('key_journal')
    .set({ intent: 'DESTROY' })
    .where('created_at', '<', begunBefore)
    .returning('key_id')
    .execute();
  return rows.map(({ key_id: keyId }) => keyId);
}

/**
 * Takes over the step of one key, whenever it began. Returns false if nothing is announced for it.
 */
export async function takeOverStep(db: Transaction<Schema>, keyId: string): Promise<boolean> {
  const row = await db
    .updateTable('key_journal')
    .set({ intent: 'DESTROY' })
    .where('key_id', '=', keyId)
    .returning('key_id')
    .executeTakeFirst();
  return row !== undefined;
}

export async function finishStep(db: Transaction<Schema>, keyId: string): Promise<void> {
  await db.deleteFrom('key_journal').where('key_id', '=', keyId).execute();
}

/** Announces a destruction, unless the key is already announced. */
export async function noteDestruction(db: Transaction<Schema>, keyId: string, now: number): Promise<void> {
  await db
    .insertInto('key_journal')
    .values({ key_id: keyId, intent: 'DESTROY', created_at: now })
    .onConflict((conflict) => conflict.column('key_id').doNothing())
    .execute();
}

/**
 * Finishes a creation: the key exists from this commit on.
 * @throws {Fault} CREATION_LOST if the journal entry is gone: the key was taken for abandoned, and
 *   is no longer on the token
 */
export async function finishCreation(db: Transaction<Schema>, keyId: string): Promise<void> {
  const announced = await db
    .deleteFrom('key_journal')
    .where('key_id', '=', keyId)
    .where('intent', '=', 'CREATE')
    .returning('key_id')
    .executeTakeFirst();
  if (announced === undefined) throw new Fault('CREATION_LOST', { message: `the creation of key ${keyId} is no longer announced` });
}

/**
 * Checks that the store can be written, for readiness. A row is inserted and deleted in one
 * transaction, so that there is an actual write.
 */
export async function probe(db: Transaction<Schema>): Promise<void> {
  const id = `probe-${randomUUID()}`;
  await db.insertInto('key_journal').values({ key_id: id, intent: 'CREATE', created_at: 0 }).execute();
  await db.deleteFrom('key_journal').where('key_id', '=', id).execute();
}
