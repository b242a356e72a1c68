import type { Transaction } from 'kysely';
import type { Schema } from '../schema.ts';
import type { ClientRow } from '../tables/clients.ts';

/** Registers a client, or changes what is registered under its public key. */
export async function registerClient(db: Transaction<Schema>, client: ClientRow): Promise<void> {
  await db
    .insertInto('clients')
    .values(client)
    .onConflict((conflict) => conflict.column('spki_sha256').doUpdateSet({ name: client.name, tenant: client.tenant, roles: client.roles }))
    .execute();
}

/** False where its public key is registered already: of two who add it at once, one does. */
export async function addClient(db: Transaction<Schema>, client: ClientRow): Promise<boolean> {
  const row = await db
    .insertInto('clients')
    .values(client)
    .onConflict((conflict) => conflict.column('spki_sha256').doNothing())
    .returning('spki_sha256')
    .executeTakeFirst();
  return row !== undefined;
}

/** False where it was not registered. */
export async function revokeClient(db: Transaction<Schema>, spkiSha256: string): Promise<boolean> {
  const row = await db.deleteFrom('clients').where('spki_sha256', '=', spkiSha256).returning('spki_sha256').executeTakeFirst();
  return row !== undefined;
}

export async function listClients(db: Transaction<Schema>): Promise<ClientRow[]> {
  return db.selectFrom('clients').selectAll().orderBy('name').orderBy('spki_sha256').execute();
}
