import type { Transaction } from 'kysely';
import type { Schema } from '../schema.ts';
import type { ClientRow } from '../tables/clients.ts';

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

/** Revokes a registration. Returns false if there was none. */
export async function revokeClient(db: Transaction<Schema>, spkiSha256: string): Promise<boolean> {
  const row = await db.deleteFrom('clients').where('spki_sha256', '=', spkiSha256).returning('spki_sha256').executeTakeFirst();
  return row !== undefined;
}

export async function listClients(db: Transaction<Schema>): Promise<ClientRow[]> {
  return db.selectFrom('clients').selectAll().orderBy('name').orderBy('spki_sha256').execute();
}
