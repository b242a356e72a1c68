import { sql, type RawBuilder, type Transaction } from 'kysely';
import type { Schema } from '../schema.ts';
import type { KeyRow, Sealed } from '../tables/keys.ts';
import type { KeyPoolRow } from '../tables/token-keys.ts';
import type { KeyTable } from './attempts.ts';

/** What follows the MACs of a key (`token/mac-generation.ts`). */
function suffixOf(generation: number): Buffer {
  const suffix = Buffer.alloc(4);
  suffix.writeUInt32BE(generation);
  return suffix;
}

/** A MAC key of the token, as the store knows it. */
export interface StoredMacKey {
  readonly generation: number;
  readonly check: Uint8Array;
  /** Milliseconds since epoch; null if it is on the token. */
  readonly destroyedAt: number | null;
}

/** Returns the MAC keys, the oldest first. */
export async function listMacKeys(db: Transaction<Schema>): Promise<StoredMacKey[]> {
  const rows = await db.selectFrom('mac_key').selectAll().where('check_value', 'is not', null).orderBy('id').execute();
  return rows.flatMap(({ id, check_value: check, destroyed_at: destroyedAt }) =>
    check === null ? [] : [{ generation: id - 1, check, destroyedAt }],
  );
}

/**
 * Adds a MAC key, which new secrets are made with from this commit on. Nothing happens if it is
 * known.
 */
export async function addMacKey(db: Transaction<Schema>, { generation, check }: { generation: number; check: Uint8Array }): Promise<void> {
  await db
    .insertInto('mac_key')
    .values({ id: generation + 1, check_value: check })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute();
}

/** Notes that a MAC key is being destroyed. */
export async function endMacKey(db: Transaction<Schema>, { generation, now }: { generation: number; now: number }): Promise<void> {
  await db
    .updateTable('mac_key')
    .set({ destroyed_at: now })
    .where('id', '=', generation + 1)
    .where('destroyed_at', 'is', null)
    .execute();
}

/** What only former MAC keys verify. */
export interface MacDependents {
  /**
   * Keys and digital identities in use whose password, authToken or transaction is of a former one.
   */
  readonly secrets: number;
  /** Open one-time passwords and activation data. */
  readonly oneTime: number;
  /** Seals of rows. */
  readonly seals: number;
}

type MacColumn = 'secret_mac' | 'transaction_mac' | 'seal_mac' | 'mac';

/**
 * Whether a MAC is there and was made with a former key. `current`: the number of the current one.
 */
function isFormer(column: MacColumn, current: number): RawBuilder<boolean> {
  const ref = sql.ref(column);
  if (current === 0) return sql<boolean>`1 = 0`;
  return sql<boolean>`(${ref} is not null and (length(${ref}) = 32 or (length(${ref}) = 36 and substr(${ref}, 33) < ${suffixOf(current)})))`;
}

/** The same, apart from MACs of keys that the service no longer has. */
async function isRenewable(db: Transaction<Schema>, column: MacColumn, current: number): Promise<RawBuilder<boolean>> {
  const row = await db
    .selectFrom('mac_key')
    .select(({ fn }) => fn.min('id').as('id'))
    .where('destroyed_at', 'is', null)
    .executeTakeFirst();
  const oldest = (row?.id ?? 1) - 1;
  if (oldest === 0) return isFormer(column, current);
  const ref = sql.ref(column);
  return sql<boolean>`(${isFormer(column, current)} and length(${ref}) = 36 and substr(${ref}, 33) >= ${suffixOf(oldest)})`;
}

/** @param now milliseconds since epoch */
export async function countMacDependents(
  db: Transaction<Schema>,
  { current, now }: { current: number; now: number },
): Promise<MacDependents> {
  const keys = await db
    .selectFrom('keys')
    .innerJoin('certificates', 'certificates.sha1', 'keys.reference')
    .select(({ fn }) => fn.countAll<number | string>().as('rows'))
    .where('keys.state', 'in', ['ACTIVE', 'ON_HOLD'])
    .where('certificates.not_after', '>', now)
    .where(sql<boolean>`(${isFormer('secret_mac', current)} or ${isFormer('transaction_mac', current)})`)
    .executeTakeFirstOrThrow();
  const identities = await db
    .selectFrom('identity_keys')
    .select(({ fn }) => fn.countAll<number | string>().as('rows'))
    .where('state', '=', 'ACTIVE')
    .where(isFormer('secret_mac', current))
    .executeTakeFirstOrThrow();
  const otps = await db
    .selectFrom('otps')
    .select(({ fn }) => fn.countAll<number | string>().as('rows'))
    .where(sql<boolean>`coalesce(ends_at, expires_at) > ${now}`)
    .where(isFormer('mac', current))
    .executeTakeFirstOrThrow();
  let seals = 0;
  for (const table of ['keys', 'identity_keys', 'key_pool'] as const) {
    const { rows } = await db
      .selectFrom(table)
      .select(({ fn }) => fn.countAll<number | string>().as('rows'))
      .where(await isRenewable(db, 'seal_mac', current))
      .executeTakeFirstOrThrow();
    seals += Number(rows);
  }
  return { secrets: Number(keys.rows) + Number(identities.rows), oneTime: Number(otps.rows), seals };
}

/**
 * Returns references of keys or identities, or CKA_IDs of keys made ahead, whose seals are of a
 * former MAC key.
 */
export async function formerSeals(
  db: Transaction<Schema>,
  { table, current, after, limit }: { table: KeyTable | 'key_pool'; current: number; after: string; limit: number },
): Promise<string[]> {
  if (table === 'key_pool') {
    const pooled = db
      .selectFrom('key_pool')
      .select('key_id')
      .where(await isRenewable(db, 'seal_mac', current))
      .where('key_id', '>', after);
    return (await pooled.orderBy('key_id').limit(limit).execute()).map((row) => row.key_id);
  }
  const rows = db
    .selectFrom(table)
    .select('reference')
    .where(await isRenewable(db, 'seal_mac', current))
    .where('reference', '>', after);
  return (await rows.orderBy('reference').limit(limit).execute()).map((row) => row.reference);
}

/** Replaces a seal, if the row still has the one that was checked. */
export async function reseal(
  db: Transaction<Schema>,
  { table, id, replaces, seal }: { table: KeyTable | 'key_pool'; id: string; replaces: Uint8Array; seal: Sealed },
): Promise<void> {
  if (table === 'key_pool') await db.updateTable(table).set(seal).where('key_id', '=', id).where('seal_mac', '=', replaces).execute();
  else await db.updateTable(table).set(seal).where('reference', '=', id).where('seal_mac', '=', replaces).execute();
}

/** The same secrets under the current MAC key. */
export interface RenewedSecrets {
  readonly table: KeyTable;
  readonly reference: string;
  /** Seal and secret that the row must still have. */
  readonly replaces: { readonly seal: Uint8Array; readonly secret: Uint8Array };
  readonly secrets: Pick<KeyRow, 'secret_salt' | 'secret_mac'>;
  /** Only of callers' keys. */
  readonly transaction: Pick<KeyRow, 'transaction_salt' | 'transaction_mac'> | undefined;
  readonly seal: Sealed;
  readonly now: number;
}

/**
 * Replaces the MACs of a key's secrets. Returns false if the row has changed since, or open
 * activation data depends on the present ones.
 */
export async function renewSecrets(
  db: Transaction<Schema>,
  { table, reference, replaces, secrets, transaction, seal, now }: RenewedSecrets,
): Promise<boolean> {
  const open = await db
    .selectFrom('otps')
    .select('reference')
    .where('reference', '=', reference)
    .where('signatures', 'is not', null)
    .where(sql<boolean>`coalesce(ends_at, expires_at) > ${now}`)
    .executeTakeFirst();
  if (open !== undefined) return false;
  const row = await db
    .updateTable(table)
    .set({ ...secrets, ...seal, secret_former_mac: replaces.secret })
    .where('reference', '=', reference)
    .where('seal_mac', '=', replaces.seal)
    .where('secret_mac', '=', replaces.secret)
    .returning('reference')
    .executeTakeFirst();
  if (row === undefined || transaction === undefined) return row !== undefined;
  await db.updateTable('keys').set(transaction).where('reference', '=', reference).execute();
  return true;
}

/** Returns the row of a key made ahead. */
export async function pooledKey(db: Transaction<Schema>, keyId: string): Promise<KeyPoolRow | undefined> {
  return db.selectFrom('key_pool').selectAll().where('key_id', '=', keyId).executeTakeFirst();
}
