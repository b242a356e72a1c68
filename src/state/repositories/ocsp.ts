import { sql, type Transaction } from 'kysely';
import type { Schema } from '../schema.ts';
import type { OcspResponderRow } from '../tables/revocation.ts';
import { announce, finishCreation } from './key-journal.ts';

/**
 * What the state says of a serial number of an authority: one row where it was issued, one more
 * where it is revoked or on hold.
 */
export interface SerialStatus {
  readonly serial_number: string;
  /** CRLReason; null in the row that says that it was issued. */
  readonly reason: number | null;
  readonly revoked_at: number | null;
}

/** Serial numbers in hexadecimal, as `certificates` writes them. */
export async function serialStatuses(
  db: Transaction<Schema>,
  { authority, serialNumbers }: { readonly authority: string; readonly serialNumbers: readonly string[] },
): Promise<SerialStatus[]> {
  return db
    .selectFrom('certificates')
    .select(['serial_number', sql<number | null>`null`.as('reason'), sql<number | null>`null`.as('revoked_at')])
    .where('authority', '=', authority)
    .where('serial_number', 'in', serialNumbers)
    .unionAll(
      db
        .selectFrom('revocations')
        .select(['serial_number', 'reason', 'revoked_at'])
        .where('authority', '=', authority)
        .where('serial_number', 'in', serialNumbers),
    )
    .execute();
}

/** The responders of an authority's key, the newest first. */
export async function ocspResponders(
  db: Transaction<Schema>,
  { authority, signer }: Pick<OcspResponderRow, 'authority' | 'signer'>,
): Promise<OcspResponderRow[]> {
  return db
    .selectFrom('ocsp_responders')
    .selectAll()
    .where('authority', '=', authority)
    .where('signer', '=', signer)
    .orderBy('generation', 'desc')
    .execute();
}

/**
 * Takes a responder that was just made, and ends the journal entry of its key. False where another
 * instance was faster with this generation: the key is not needed.
 * @throws as `finishCreation`
 */
export async function takeOcspResponder(db: Transaction<Schema>, row: OcspResponderRow): Promise<boolean> {
  const taken = await db
    .insertInto('ocsp_responders')
    .values(row)
    .onConflict((conflict) => conflict.columns(['authority', 'signer', 'generation']).doNothing())
    .returning('key_id')
    .executeTakeFirst();
  if (taken === undefined) return false;
  await finishCreation(db, row.key_id);
  return true;
}

/**
 * Responders that ended before a moment go; answers their keys, whose destruction is announced in
 * the same commit.
 */
export async function retireOcspResponders(
  db: Transaction<Schema>,
  { endedBefore, now }: { readonly endedBefore: number; readonly now: number },
): Promise<string[]> {
  const rows = await db.deleteFrom('ocsp_responders').where('not_after', '<', endedBefore).returning('key_id').execute();
  for (const { key_id: keyId } of rows) await announce(db, { key_id: keyId, intent: 'DESTROY', created_at: now });
  return rows.map(({ key_id: keyId }) => keyId);
}
