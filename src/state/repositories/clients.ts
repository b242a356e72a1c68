import type { Transaction } from 'kysely';
import type { ClientRow, Schema } from '../schema.ts';

export async function registerClient(db: Transaction<Schema>, client: ClientRow): Promise<void> {
  await db
    .insertInto('clients')
    .values(client)
    .onConflict((conflict) => conflict.column('spki_sha256').doUpdateSet({ name: client.name, tenant: client.tenant, roles: client.roles }))
    .execute();
}

export async function listClients(db: Transaction<Schema>): Promise<ClientRow[]> {
  return db.selectFrom('clients').selectAll().execute();
}
