import { sql, type RawBuilder, type Transaction } from 'kysely';
import type { Schema } from '../schema.ts';

/** The client of the rows that count all clients together. */
const everybody = '';

/** Bytes of kept answers: of one client, of all clients of its tenant, and of all. */
export interface KeptBytes {
  readonly client: number;
  readonly tenant: number;
  readonly all: number;
}

/** Whether the column names this client, or another one that is registered for its tenant. */
export function isOfTenant(client: string): RawBuilder<boolean> {
  return sql<boolean>`(client = ${client} or client in (select other.spki_sha256 from clients as other
    where other.tenant = (select own.tenant from clients as own where own.spki_sha256 = ${client})))`;
}

export async function keptBytes(db: Transaction<Schema>, client: string): Promise<KeptBytes> {
  const rows = await db
    .selectFrom('kept_bytes')
    .select(['client', sql<number>`cast(sum(bytes) as bigint)`.as('bytes')])
    .where((where) => where.or([where('client', '=', everybody), isOfTenant(client)]))
    .groupBy('client')
    .execute();
  const of = (name: string): number => rows.find((row) => row.client === name)?.bytes ?? 0;
  const ofTenant = rows.reduce((sum, row) => (row.client === everybody ? sum : sum + row.bytes), 0);
  return { client: of(client), tenant: ofTenant, all: of(everybody) };
}

/** Returns the bytes of all kept answers. */
export async function allKeptBytes(db: Transaction<Schema>): Promise<number> {
  return (await keptBytes(db, everybody)).all;
}

/** Adds to the bytes of clients (negative for deleted answers) on the counter of one instance. */
export async function countKeptBytes(db: Transaction<Schema>, counter: string, ofClients: ReadonlyMap<string, number>): Promise<void> {
  const changed = [...ofClients].filter(([, bytes]) => bytes !== 0);
  if (changed.length === 0) return;
  const all = changed.reduce((sum, [, bytes]) => sum + bytes, 0);
  await db
    .insertInto('kept_bytes')
    .values([...changed, [everybody, all] as const].map(([client, bytes]) => ({ client, counter, bytes })))
    .onConflict((conflict) => conflict.columns(['client', 'counter']).doUpdateSet({ bytes: sql`kept_bytes.bytes + excluded.bytes` }))
    .execute();
}

/**
 * Moves the counts of other instances to the counter of this one, so that counters of instances
 * that are gone do not accumulate.
 */
export async function gatherKeptBytes(db: Transaction<Schema>, counter: string): Promise<void> {
  const others = await db.deleteFrom('kept_bytes').where('counter', '!=', counter).returning(['client', 'bytes']).execute();
  const sums = new Map<string, number>();
  for (const { client, bytes } of others) if (client !== everybody) sums.set(client, (sums.get(client) ?? 0) + bytes);
  await countKeptBytes(db, counter, sums);
}
