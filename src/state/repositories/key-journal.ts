import type { Transaction } from 'kysely';
import { Fault } from '../../faults.ts';
import type { Schema } from '../schema.ts';
import type { KeyJournalRow } from '../tables/token-keys.ts';

/** Announces a step on the token, so that a crash in the middle of it is seen afterwards. */
export async function announce(db: Transaction<Schema>, entry: KeyJournalRow): Promise<void> {
  await db.insertInto('key_journal').values(entry).execute();
}

export async function journal(db: Transaction<Schema>): Promise<KeyJournalRow[]> {
  return db.selectFrom('key_journal').selectAll().execute();
}

/**
 * Takes over the steps that began before a moment: their keys are to be destroyed. From this commit
 * on, whoever began to create one of them cannot finish it.
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

/** The same for one key, whenever it began. False where nothing is announced for it. */
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

/** Announces a destruction, unless the key is announced already. */
export async function noteDestruction(db: Transaction<Schema>, keyId: string, now: number): Promise<void> {
  await db
    .insertInto('key_journal')
    .values({ key_id: keyId, intent: 'DESTROY', created_at: now })
    .onConflict((conflict) => conflict.column('key_id').doNothing())
    .execute();
}

/**
 * The key exists from this commit on: the end of its journal entry.
 * @throws {Fault} CREATION_LOST if the entry is gone: somebody took the key for abandoned, and it
 *   is not on the token any more
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
