import type { Transaction } from 'kysely';
import type { CertificateRow, KeyJournalRow, KeyRow, Schema } from '../schema.ts';

/** A key with its certificate, as every use of the key needs both. */
export type KeyWithCertificate = KeyRow & { readonly der: Uint8Array; readonly not_after: number };

/** How failures lock a key (contract §6). */
export interface LockRule {
  readonly failuresInRow: number;
  readonly lockMs: number;
  readonly now: number;
}

export async function findKey(db: Transaction<Schema>, reference: string): Promise<KeyWithCertificate | undefined> {
  return db
    .selectFrom('keys')
    .innerJoin('certificates', 'certificates.sha1', 'keys.reference')
    .selectAll('keys')
    .select(['certificates.der', 'certificates.not_after'])
    .where('keys.reference', '=', reference)
    .executeTakeFirst();
}

/** Announces a step on the token, so that a crash in the middle of it is seen at the next start. */
export async function announce(db: Transaction<Schema>, entry: KeyJournalRow): Promise<void> {
  await db.insertInto('key_journal').values(entry).execute();
}

export async function journal(db: Transaction<Schema>): Promise<KeyJournalRow[]> {
  return db.selectFrom('key_journal').selectAll().execute();
}

export async function finishStep(db: Transaction<Schema>, keyId: string): Promise<void> {
  await db.deleteFrom('key_journal').where('key_id', '=', keyId).execute();
}

/** The key exists from this commit on: its record, its certificate, and the end of its journal entry. */
export async function insertKey(
  db: Transaction<Schema>,
  { key, certificate }: { key: KeyRow; certificate: CertificateRow },
): Promise<void> {
  await db.insertInto('certificates').values(certificate).execute();
  await db.insertInto('keys').values(key).execute();
  await finishStep(db, key.key_id);
}

/** Counts a failed attempt and locks the key where the rule says so. Answers the counters as they are now. */
export async function recordFailure(
  db: Transaction<Schema>,
  { reference, rule }: { reference: string; rule: LockRule },
): Promise<Pick<KeyRow, 'failures_in_row' | 'failures_since_success' | 'locked_until'>> {
  const key = await db.selectFrom('keys').selectAll().where('reference', '=', reference).executeTakeFirstOrThrow();
  const lockEnded = key.locked_until !== null && key.locked_until <= rule.now;
  const inRow = (lockEnded ? 0 : key.failures_in_row) + 1;
  const lockedUntil = inRow >= rule.failuresInRow ? rule.now + rule.lockMs : lockEnded ? null : key.locked_until;
  const counters = { failures_in_row: inRow, failures_since_success: key.failures_since_success + 1, locked_until: lockedUntil };
  await db.updateTable('keys').set(counters).where('reference', '=', reference).execute();
  return counters;
}

export async function clearFailures(db: Transaction<Schema>, reference: string): Promise<void> {
  await db
    .updateTable('keys')
    .set({ failures_in_row: 0, failures_since_success: 0, locked_until: null })
    .where('reference', '=', reference)
    .execute();
}

/** Takes the key out of use and announces its destruction, in one commit. False where somebody else did it before. */
export async function markRemoved(db: Transaction<Schema>, { reference, now }: { reference: string; now: number }): Promise<boolean> {
  const row = await db
    .updateTable('keys')
    .set({ state: 'REMOVED' })
    .where('reference', '=', reference)
    .where('state', '=', 'ACTIVE')
    .returning('key_id')
    .executeTakeFirst();
  if (row === undefined) return false;
  await announce(db, { key_id: row.key_id, intent: 'DESTROY', created_at: now });
  return true;
}
