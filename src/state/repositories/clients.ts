import type { Transaction } from 'kysely';
import type { Schema } from '../schema.ts';
import type { ClientRow, RevokedClientRow } from '../tables/clients.ts';

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
  const revoked = await db.selectFrom('revoked_clients').select('spki_sha256').where('spki_sha256', '=', spkiSha256).executeTakeFirst();
  if (revoked === undefined) return true;
  if (again) await db.deleteFrom('revoked_clients').where('spki_sha256', '=', spkiSha256).execute();
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
  return true;
}

/** The revoked clients, the last one first. */
export async function listRevokedClients(db: Transaction<Schema>): Promise<RevokedClientRow[]> {
  return db.selectFrom('revoked_clients').selectAll().orderBy('revoked_at', 'desc').orderBy('spki_sha256').execute();
}

export async function listClients(db: Transaction<Schema>): Promise<ClientRow[]> {
  return db.selectFrom('clients').selectAll().orderBy('name').orderBy('spki_sha256').execute();
}
