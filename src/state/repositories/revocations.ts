import { sql, type Transaction } from 'kysely';
import { Fault } from '../../faults.ts';
import type { Schema } from '../schema.ts';
import type { CertificateRow } from '../tables/certificates.ts';
import { holdReason, type RevocationRow } from '../tables/revocation.ts';

/** A certificate with its revocation, if any. */
export type CertificateWithRevocation = CertificateRow & { readonly reason: number | null; readonly revoked_at: number | null };

export async function findCertificate(db: Transaction<Schema>, sha1: string): Promise<CertificateWithRevocation | undefined> {
  return db
    .selectFrom('certificates')
    .leftJoin('revocations', (join) =>
      join
        .onRef('revocations.authority', '=', 'certificates.authority')
        .onRef('revocations.serial_number', '=', 'certificates.serial_number'),
    )
    .selectAll('certificates')
    .select(['revocations.reason', 'revocations.revoked_at'])
    .where('certificates.sha1', '=', sha1)
    .executeTakeFirst();
}

/**
 * Revokes a certificate or puts it on hold, together with its key if that is in use or on hold.
 * `heldSince`: date of the existing hold, which is kept for the permanent revocation (X.509
 * §9.5.3.3).
 * @throws {Fault} CERTIFICATE_CHANGED if it is no longer on hold since then; nothing of the commit
 *   is done
 */
export async function revoke(
  db: Transaction<Schema>,
  { sha1, heldSince, ...revocation }: RevocationRow & { readonly sha1: string; readonly heldSince: number | null },
): Promise<void> {
  const { authority, serial_number: serialNumber, reason } = revocation;
  const changed =
    heldSince === null
      ? await db
          .insertInto('revocations')
          .values(revocation)
          .onConflict((conflict) => conflict.columns(['authority', 'serial_number']).doNothing())
          .returning('reason')
          .executeTakeFirst()
      : await db
          .updateTable('revocations')
          .set({ reason })
          .where('authority', '=', authority)
          .where('serial_number', '=', serialNumber)
          .where('reason', '=', holdReason)
          .where('revoked_at', '=', heldSince)
          .returning('reason')
          .executeTakeFirst();
  if (changed === undefined) throw new Fault('CERTIFICATE_CHANGED');
  await revokeKey(db, sha1, reason);
  await noteRevision(db, authority);
}

/**
 * Sets the key of a certificate to revoked or on hold, like the certificate. `sha1`: fingerprint of
 * the certificate.
 */
export async function revokeKey(db: Transaction<Schema>, sha1: string, reason: number): Promise<void> {
  await db
    .updateTable('keys')
    .set({ state: reason === holdReason ? 'ON_HOLD' : 'REVOKED' })
    .where('reference', '=', sha1)
    .where('state', 'in', ['ACTIVE', 'ON_HOLD'])
    .execute();
}

/**
 * Releases a hold.
 * @throws {Fault} CERTIFICATE_CHANGED if the certificate is not on hold; nothing of the commit is
 *   done
 */
export async function releaseHold(
  db: Transaction<Schema>,
  { sha1, authority, serialNumber }: { sha1: string; authority: string; serialNumber: string },
): Promise<void> {
  const row = await db
    .deleteFrom('revocations')
    .where('authority', '=', authority)
    .where('serial_number', '=', serialNumber)
    .where('reason', '=', holdReason)
    .returning('authority')
    .executeTakeFirst();
  if (row === undefined) throw new Fault('CERTIFICATE_CHANGED');
  await releaseKey(db, sha1);
  await noteRevision(db, authority);
}

/** Reactivates the key of a certificate that is no longer on hold. */
export async function releaseKey(db: Transaction<Schema>, sha1: string): Promise<void> {
  await db.updateTable('keys').set({ state: 'ACTIVE' }).where('reference', '=', sha1).where('state', '=', 'ON_HOLD').execute();
}

/** Notes that the contents of the next CRL differ from the last. */
export async function noteRevision(db: Transaction<Schema>, authority: string): Promise<void> {
  await db
    .insertInto('crl_states')
    .values({ authority, revision: 1 })
    .onConflict((conflict) => conflict.column('authority').doUpdateSet({ revision: sql<number>`crl_states.revision + 1` }))
    .execute();
}
