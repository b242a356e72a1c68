import { sql, type Transaction } from 'kysely';
import type { Schema } from '../schema.ts';
import type { OcspResponderRow } from '../tables/revocation.ts';
import { announce, finishCreation } from './key-journal.ts';

/** Status of a serial number: one row if it was issued, another if it is revoked or on hold. */
export interface SerialStatus {
  readonly serial_number: string;
  /** CRLReason; null in the row of an issued certificate. */
  readonly reason: number | null;
  readonly revoked_at: number | null;
}

/** Returns the status of serial numbers, in hexadecimal as in `certificates`. */
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

/** Returns the responders of an authority's key, newest first. */
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
 * Registers a new responder and ends the journal entry of its key. Returns false if another
 * instance has already registered this generation, so that the key is not needed.
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
 * Deletes responders that expired before a given time. Returns their keys, whose destruction is
 * announced in the same commit.
 */
export async function retireOcspResponders(
  db: Transaction<Schema>,
  { endedBefore, now }: { readonly endedBefore: number; readonly now: number },
): Promise<string[]> {
  const rows = await db.deleteFrom('ocsp_responders').where('not_after', '<', endedBefore).returning('key_id').execute();
  for (const { key_id: keyId } of rows) await announce(db, { key_id: keyId, intent: 'DESTROY', created_at: now });
  return rows.map(({ key_id: keyId }) => keyId);
}
