import { sql, type Transaction } from 'kysely';
import { Fault } from '../../faults.ts';
import type { Schema } from '../schema.ts';
import type { CertificateRow, IssuingChainRow } from '../tables/certificates.ts';
import type { KeyRow } from '../tables/keys.ts';
import { announce, finishCreation } from './key-journal.ts';

/** A key with its certificate, since every use of the key needs both. */
export type KeyWithCertificate = KeyRow & {
  readonly der: Uint8Array;
  readonly not_after: number;
  /** The tenant that the certificate was issued for. */
  readonly certificate_tenant: string;
  /** Configured name of the issuing authority. */
  readonly authority: string;
  readonly issuing_chain: string | null;
  readonly secret_former_mac?: Uint8Array | null;
};

export async function findKey(db: Transaction<Schema>, reference: string): Promise<KeyWithCertificate | undefined> {
  return db
    .selectFrom('keys')
    .innerJoin('certificates', 'certificates.sha1', 'keys.reference')
    .selectAll('keys')
    .select(certificateColumns)
    .where('keys.reference', '=', reference)
    .executeTakeFirst();
}

const certificateColumns = [
  'certificates.der',
  'certificates.not_after',
  'certificates.tenant as certificate_tenant',
  'certificates.authority',
  'certificates.issuing_chain',
] as const;

/** Returns the chain that certificates were issued under. */
export async function findIssuingChain(db: Transaction<Schema>, id: string): Promise<Uint8Array | undefined> {
  return (await db.selectFrom('issuing_chains').select('der').where('id', '=', id).executeTakeFirst())?.der;
}

/**
 * Returns the keys after a reference, in the order of references; of one tenant or of all. An index
 * has this order, so the cost depends only on the page size.
 */
export async function listKeys(
  db: Transaction<Schema>,
  { tenant, after, limit }: { tenant?: string | undefined; after?: string | undefined; limit: number },
): Promise<KeyWithCertificate[]> {
  let keys = db
    .selectFrom('keys')
    .selectAll()
    .where('reference', '>', after ?? '')
    .orderBy('reference')
    .limit(limit);
  if (tenant !== undefined) keys = keys.where('tenant', '=', tenant);
  // Select the page before joining certificates: a planner that joins first reads all of them.
  return db
    .selectFrom(keys.as('page'))
    .innerJoin('certificates', 'certificates.sha1', 'page.reference')
    .selectAll('page')
    .select(certificateColumns)
    .orderBy('page.reference')
    .execute();
}

/** States in which the private key is not on the token. */
export const endedStates: readonly string[] = ['CONSUMED', 'REMOVED', 'LEFT_BEHIND'];

/**
 * Returns those of these keys whose private keys callers were told are destroyed, without those that
 * are being destroyed.
 * @param ids CKA_IDs, at most 500
 */
export async function destroyedAmong(db: Transaction<Schema>, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const rows = await db
    .selectFrom('keys')
    .leftJoin('key_journal', 'key_journal.key_id', 'keys.key_id')
    .select('keys.key_id')
    .where('keys.key_id', 'in', ids)
    .where('keys.state', 'in', ['CONSUMED', 'REMOVED'])
    .where('key_journal.key_id', 'is', null)
    .execute();
  return rows.map(({ key_id: keyId }) => keyId);
}

/** Counts the keys of a tenant on the token. */
export async function countKeys(db: Transaction<Schema>, tenant: string): Promise<number> {
  const { keys } = await db
    .selectFrom('keys')
    .select(({ fn }) => fn.countAll<number | string>().as('keys'))
    .where('tenant', '=', tenant)
    .where('state', 'not in', endedStates)
    .executeTakeFirstOrThrow();
  return Number(keys);
}

/**
 * Counts the keys on the token whose records have no seal, so that they cannot be used. There is an
 * index for this.
 */
export async function countUnsealedKeys(db: Transaction<Schema>): Promise<number> {
  const { keys } = await db
    .selectFrom('keys')
    .select(({ fn }) => fn.countAll<number | string>().as('keys'))
    .where('seal_mac', 'is', null)
    .where('state', 'not in', endedStates)
    .executeTakeFirstOrThrow();
  return Number(keys);
}

/**
 * Inserts a key: its record and its certificate, and removes its journal entry.
 * @throws as `finishCreation`; {Fault} TENANT_FULL
 */
export async function insertKey(
  db: Transaction<Schema>,
  {
    key,
    certificate,
    issuers,
    keysMax,
  }: { key: KeyRow; certificate: CertificateRow; issuers?: IssuingChainRow | undefined; keysMax?: number | undefined },
): Promise<void> {
  await finishCreation(db, key.key_id);
  if (keysMax !== undefined) await checkRoom(db, key.tenant, keysMax);
  if (issuers !== undefined) {
    await db
      .insertInto('issuing_chains')
      .values(issuers)
      .onConflict((conflict) => conflict.column('id').doNothing())
      .execute();
  }
  await db
    .insertInto('certificates')
    .values({ ...certificate, issuing_chain: issuers?.id ?? null })
    .execute();
  await db.insertInto('keys').values(key).execute();
}

/**
 * Checks the tenant's limit. Concurrent creations change one row, so they are serialised across all
 * instances.
 */
async function checkRoom(db: Transaction<Schema>, tenant: string, keysMax: number): Promise<void> {
  await db
    .insertInto('limited_tenants')
    .values({ tenant, creations: 1 })
    .onConflict((conflict) => conflict.column('tenant').doUpdateSet({ creations: sql<number>`limited_tenants.creations + 1` }))
    .execute();
  if ((await countKeys(db, tenant)) >= keysMax) throw new Fault('TENANT_FULL');
}

/** A change of a key's state. A final state announces the destruction on the token. */
export interface StateChange {
  readonly reference: string;
  readonly from: readonly string[];
  readonly to: string;
  readonly destroys: boolean;
  readonly now: number;
}

/**
 * Changes the state, in one commit with the announcement of a destruction. Returns false if the key
 * is not in a state that the change may start from.
 */
export async function changeKeyState(db: Transaction<Schema>, { reference, from, to, destroys, now }: StateChange): Promise<boolean> {
  const row = await db
    .updateTable('keys')
    .set({ state: to })
    .where('reference', '=', reference)
    .where('state', 'in', from)
    .returning('key_id')
    .executeTakeFirst();
  if (row === undefined) return false;
  if (destroys) await announce(db, { key_id: row.key_id, intent: 'DESTROY', created_at: now });
  return true;
}
