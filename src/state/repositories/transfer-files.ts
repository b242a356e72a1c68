import { sql, type Transaction } from 'kysely';
import { Fault } from '../../faults.ts';
import type { Schema } from '../schema.ts';
import type { TransferFileRow, TransferShareRow } from '../tables/transfer-files.ts';

/** Limits on a tenant's files in the transfer store, including files that are arriving. */
export interface TransferQuota {
  readonly bytes: number;
  readonly files: number;
}

type Arriving = Pick<TransferFileRow, 'id' | 'tenant' | 'owner' | 'bytes' | 'media_type' | 'file_name' | 'ends_at'>;

/**
 * Registers a file that begins to arrive: `bytes` of the tenant's share are reserved until
 * `ends_at`, which may be extended. Returns false if the share has no room for it.
 */
export async function beginTransfer(
  db: Transaction<Schema>,
  { quota, ...file }: Arriving & { readonly quota: TransferQuota },
): Promise<boolean> {
  const { tenant, bytes } = file;
  await db
    .insertInto('transfer_shares')
    .values({ tenant, bytes: 0, files: 0 })
    .onConflict((conflict) => conflict.column('tenant').doNothing())
    .execute();
  if (!(await takeShare(db, { tenant, bytes, files: 1, quota }))) return false;
  await db
    .insertInto('transfer_files')
    .values({ ...file, state: 'ARRIVING', sha256: null })
    .execute();
  return true;
}

/**
 * Enlarges the reservation of a file that turns out larger. Returns false if the share has no room
 * for it, or it is no longer arriving.
 */
export async function growTransfer(
  db: Transaction<Schema>,
  { id, by, quota }: { readonly id: string; readonly by: number; readonly quota: TransferQuota },
): Promise<boolean> {
  const row = await db.selectFrom('transfer_files').select(['tenant', 'state']).where('id', '=', id).executeTakeFirst();
  if (row?.state !== 'ARRIVING') return false;
  if (!(await takeShare(db, { tenant: row.tenant, bytes: by, files: 0, quota }))) return false;
  await db
    .updateTable('transfer_files')
    .set({ bytes: sql<number>`bytes + ${by}` })
    .where('id', '=', id)
    .execute();
  return true;
}

/** Extends the reservations of files that are still arriving. */
export async function renewTransfers(
  db: Transaction<Schema>,
  { ids, until }: { readonly ids: readonly string[]; readonly until: number },
): Promise<void> {
  if (ids.length === 0) return;
  await db.updateTable('transfer_files').set({ ends_at: until }).where('id', 'in', ids).where('state', '=', 'ARRIVING').execute();
}

type Whole = Pick<TransferFileRow, 'id' | 'bytes' | 'ends_at'> & { readonly sha256: string };

/**
 * Stores a file that is complete and synced: from this commit on it can be fetched.
 * @throws {Fault} TRANSFER_ENDED if it was given up meanwhile
 */
export async function storeTransfer(db: Transaction<Schema>, file: Whole): Promise<void> {
  await arrived(db, file, 'STORED');
}

/**
 * Stages evidence that is complete and synced; it cannot be fetched until it is published.
 * @throws {Fault} TRANSFER_ENDED if it was given up meanwhile
 */
export async function stageTransfer(db: Transaction<Schema>, file: Whole): Promise<void> {
  await arrived(db, file, 'STAGED');
}

/**
 * Publishes staged evidence: from this commit on it can be fetched. Does nothing if it is already
 * published.
 */
export async function publishTransfer(
  db: Transaction<Schema>,
  { id, endsAt }: { readonly id: string; readonly endsAt: number },
): Promise<void> {
  await db
    .updateTable('transfer_files')
    .set({ state: 'STORED', ends_at: endsAt })
    .where('id', '=', id)
    .where('state', '=', 'STAGED')
    .execute();
}

/** Withdraws staged evidence. */
export async function withdrawTransfer(db: Transaction<Schema>, id: string): Promise<void> {
  await db.updateTable('transfer_files').set({ state: 'ENDED' }).where('id', '=', id).where('state', '=', 'STAGED').execute();
}

async function arrived(db: Transaction<Schema>, { id, ...stored }: Whole, state: 'STORED' | 'STAGED'): Promise<void> {
  const row = await db
    .selectFrom('transfer_files')
    .select(['tenant', 'bytes'])
    .where('id', '=', id)
    .where('state', '=', 'ARRIVING')
    .executeTakeFirst();
  if (row === undefined) throw new Fault('TRANSFER_ENDED');
  await db
    .updateTable('transfer_files')
    .set({ ...stored, state })
    .where('id', '=', id)
    .execute();
  await giveBackShare(db, row.tenant, row.bytes - stored.bytes, 0);
}

/** Returns a stored file that has not expired. */
export async function findTransfer(
  db: Transaction<Schema>,
  { id, tenant, now }: { readonly id: string; readonly tenant: string; readonly now: number },
): Promise<TransferFileRow | undefined> {
  return db
    .selectFrom('transfer_files')
    .selectAll()
    .where('id', '=', id)
    .where('tenant', '=', tenant)
    .where('state', '=', 'STORED')
    .where('ends_at', '>', now)
    .executeTakeFirst();
}

/** Ends a file, which can no longer be fetched. Returns false if it could not be fetched before. */
export async function endTransfer(
  db: Transaction<Schema>,
  { id, tenant, now }: { readonly id: string; readonly tenant: string; readonly now: number },
): Promise<boolean> {
  if ((await findTransfer(db, { id, tenant, now })) === undefined) return false;
  await db.updateTable('transfer_files').set({ state: 'ENDED' }).where('id', '=', id).execute();
  return true;
}

/** Ends the files that were arriving when their owner died. */
export async function endTransfersOf(db: Transaction<Schema>, owner: string | undefined): Promise<void> {
  const arriving = db.updateTable('transfer_files').set({ state: 'ENDED' }).where('state', '=', 'ARRIVING');
  await (owner === undefined ? arriving : arriving.where('owner', '=', owner)).execute();
}

/**
 * Returns identifiers of files to be removed from the disk, up to a limit: expired, or abandoned
 * while arriving.
 */
export async function endedTransfers(
  db: Transaction<Schema>,
  { now, limit }: { readonly now: number; readonly limit: number },
): Promise<string[]> {
  await db
    .updateTable('transfer_files')
    .set({ state: 'ENDED' })
    .where('state', 'in', ['STORED', 'ARRIVING'])
    .where('ends_at', '<=', now)
    .execute();
  const rows = await db.selectFrom('transfer_files').select('id').where('state', '=', 'ENDED').limit(limit).execute();
  return rows.map(({ id }) => id);
}

/**
 * Deletes the row of a file that is no longer on disk, or is there to no purpose: the tenant gets
 * its share back.
 */
export async function forgetTransfer(db: Transaction<Schema>, id: string): Promise<void> {
  const row = await db
    .deleteFrom('transfer_files')
    .where('id', '=', id)
    .where('state', 'in', ['ARRIVING', 'ENDED'])
    .returning(['tenant', 'bytes'])
    .executeTakeFirst();
  if (row !== undefined) await giveBackShare(db, row.tenant, row.bytes, 1);
}

/** Returns the identifiers that have a row. */
export async function knownTransfers(db: Transaction<Schema>, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const rows = await db.selectFrom('transfer_files').select('id').where('id', 'in', ids).execute();
  return rows.map(({ id }) => id);
}

export async function transferShares(db: Transaction<Schema>): Promise<TransferShareRow[]> {
  return db.selectFrom('transfer_shares').selectAll().execute();
}

/**
 * Reserves part of the tenant's share. A single statement decides, and waits for those of other
 * instances.
 */
async function takeShare(
  db: Transaction<Schema>,
  {
    tenant,
    bytes,
    files,
    quota,
  }: { readonly tenant: string; readonly bytes: number; readonly files: number; readonly quota: TransferQuota },
): Promise<boolean> {
  const row = await db
    .updateTable('transfer_shares')
    .set({ bytes: sql<number>`bytes + ${bytes}`, files: sql<number>`files + ${files}` })
    .where('tenant', '=', tenant)
    .where(sql<boolean>`bytes + ${bytes} <= ${quota.bytes}`)
    .where(sql<boolean>`files + ${files} <= ${quota.files}`)
    .returning('tenant')
    .executeTakeFirst();
  return row !== undefined;
}

async function giveBackShare(db: Transaction<Schema>, tenant: string, bytes: number, files: number): Promise<void> {
  await db
    .updateTable('transfer_shares')
    .set({ bytes: sql<number>`bytes - ${bytes}`, files: sql<number>`files - ${files}` })
    .where('tenant', '=', tenant)
    .execute();
}
