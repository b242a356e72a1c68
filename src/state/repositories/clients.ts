import type { Transaction } from 'kysely';
import type { Schema } from '../schema.ts';
import type { ClientCertificateRow, ClientRow, RevokedClientRow } from '../tables/clients.ts';
import { noteRevision } from './revocations.ts';

/**
 * Of the SHA-256 of a public key in records of earlier versions: after `state confirm`, a revoked
 * client may be known by these digits only.
 */
const digitsInLog = 16;

/** CRLReason unspecified (RFC 5280 §5.3.1), which a CRL leaves out. */
const unspecified = 0;

/** Registers a client, or updates the registration under its public key. */
export async function registerClient(db: Transaction<Schema>, client: ClientRow): Promise<void> {
  await db
    .insertInto('clients')
    .values(client)
    .onConflict((conflict) => {
      const { name, tenant, roles, not_before, not_after } = client;
      return conflict.column('spki_sha256').doUpdateSet({ name, tenant, roles, not_before, not_after });
    })
    .execute();
}

/**
 * Registers a client. Returns false if its public key is already registered: of two concurrent
 * calls, one succeeds.
 */
export async function addClient(db: Transaction<Schema>, client: ClientRow): Promise<boolean> {
  const row = await db
    .insertInto('clients')
    .values(client)
    .onConflict((conflict) => conflict.column('spki_sha256').doNothing())
    .returning('spki_sha256')
    .executeTakeFirst();
  return row !== undefined;
}

/**
 * Decides whether a public key may be registered: not if it was revoked, unless `again` is set, which
 * forgets the revocation.
 */
export async function admitKey(
  db: Transaction<Schema>,
  { spkiSha256, again }: { readonly spkiSha256: string; readonly again: boolean },
): Promise<boolean> {
  const names = [spkiSha256, spkiSha256.slice(0, digitsInLog)];
  const revoked = await db.selectFrom('revoked_clients').select('spki_sha256').where('spki_sha256', 'in', names).executeTakeFirst();
  if (revoked === undefined) return true;
  if (again) await db.deleteFrom('revoked_clients').where('spki_sha256', 'in', names).execute();
  return again;
}

/** Revokes a registration, and keeps that its key was revoked. Returns false if there was none. */
export async function revokeClient(
  db: Transaction<Schema>,
  { spkiSha256, now }: { readonly spkiSha256: string; readonly now: number },
): Promise<boolean> {
  const row = await db.deleteFrom('clients').where('spki_sha256', '=', spkiSha256).returningAll().executeTakeFirst();
  if (row === undefined) return false;
  const { name, tenant, created_at: registered, not_after } = row;
  const revoked = { name, tenant, registered_at: registered, revoked_at: now, not_after };
  await db
    .insertInto('revoked_clients')
    .values({ spki_sha256: spkiSha256, ...revoked })
    .onConflict((conflict) => conflict.column('spki_sha256').doUpdateSet(revoked))
    .execute();
  await revokeCertificates(db, { spkiSha256, now });
  return true;
}

/**
 * Notes a certificate that a CA of this service issued to a client. Those that have expired are
 * forgotten.
 */
export async function noteClientCertificate(
  db: Transaction<Schema>,
  { now, ...certificate }: ClientCertificateRow & { readonly now: number },
): Promise<void> {
  await db.deleteFrom('client_certificates').where('not_after', '<', now).execute();
  await db
    .insertInto('client_certificates')
    .values(certificate)
    .onConflict((conflict) => conflict.columns(['authority', 'serial_number']).doNothing())
    .execute();
}

/** Returns the certificates of a public key that CAs of this service issued. */
export async function clientCertificatesOf(db: Transaction<Schema>, spkiSha256: string): Promise<ClientCertificateRow[]> {
  return db.selectFrom('client_certificates').selectAll().where('spki_sha256', '=', spkiSha256).orderBy('serial_number').execute();
}

/**
 * Moves all certificates of a public key to the revoked ones of their CA, whose next CRL has them.
 */
export async function revokeCertificates(
  db: Transaction<Schema>,
  { spkiSha256, now }: { readonly spkiSha256: string; readonly now: number },
): Promise<void> {
  const certificates = await db.deleteFrom('client_certificates').where('spki_sha256', '=', spkiSha256).returningAll().execute();
  // CRLs have a resolution of one second.
  const revocation = { reason: unspecified, revoked_at: Math.floor(now / 1000) * 1000 };
  for (const { authority, serial_number, not_after } of certificates) {
    await db
      .insertInto('revocations')
      .values({ authority, serial_number, not_after, ...revocation })
      .onConflict((conflict) => conflict.columns(['authority', 'serial_number']).doNothing())
      .execute();
  }
  for (const authority of new Set(certificates.map((one) => one.authority))) await noteRevision(db, authority);
}

/** The revoked clients, the last one first. */
export async function listRevokedClients(db: Transaction<Schema>): Promise<RevokedClientRow[]> {
  return db.selectFrom('revoked_clients').selectAll().orderBy('revoked_at', 'desc').orderBy('spki_sha256').execute();
}

export async function listClients(db: Transaction<Schema>): Promise<ClientRow[]> {
  return db.selectFrom('clients').selectAll().orderBy('name').orderBy('spki_sha256').execute();
}
