import { sql, type Transaction } from 'kysely';
import { Fault } from '../../faults.ts';
import type { Schema } from '../schema.ts';
import type { TransferFileRow, TransferShareRow } from '../tables/transfer-files.ts';

/** What a tenant may have in the transfer store at a time, what arrives included. */
export interface TransferQuota {
  readonly bytes: number;
  readonly files: number;
}

type Arriving = Pick<TransferFileRow, 'id' | 'tenant' | 'owner' | 'bytes' | 'media_type' | 'file_name' | 'ends_at'>;

/**
 * A file begins to arrive: `bytes` of the tenant's share are its own from now on, until `ends_at`
 * unless that is put off. False: the share has no room for it.
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
 * A file that arrives is larger than was known. False: the share has no room for it, or it does not
 * arrive any more.
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

/** These files are on their way still. */
export async function renewTransfers(
  db: Transaction<Schema>,
  { ids, until }: { readonly ids: readonly string[]; readonly until: number },
): Promise<void> {
  if (ids.length === 0) return;
  await db.updateTable('transfer_files').set({ ends_at: until }).where('id', 'in', ids).where('state', '=', 'ARRIVING').execute();
}

type Whole = Pick<TransferFileRow, 'id' | 'bytes' | 'ends_at'> & { readonly sha256: string };

/**
 * A file is there, whole and synced: from this commit on it can be fetched.
 * @throws {Fault} TRANSFER_ENDED if it was given up meanwhile
 */
export async function storeTransfer(db: Transaction<Schema>, file: Whole): Promise<void> {
  await arrived(db, file, 'STORED');
}

/**
 * Evidence is there, whole and synced, and nobody can fetch it before it is published.
 * @throws {Fault} TRANSFER_ENDED if it was given up meanwhile
 */
export async function stageTransfer(db: Transaction<Schema>, file: Whole): Promise<void> {
  await arrived(db, file, 'STAGED');
}

/** From this commit on staged evidence can be fetched. Once it is published, nothing is done. */
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

/** Staged evidence is not published. */
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

/** A file that is there and has not ended. */
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

/** Nobody can fetch the file any more. False where nobody could before. */
export async function endTransfer(
  db: Transaction<Schema>,
  { id, tenant, now }: { readonly id: string; readonly tenant: string; readonly now: number },
): Promise<boolean> {
  if ((await findTransfer(db, { id, tenant, now })) === undefined) return false;
  await db.updateTable('transfer_files').set({ state: 'ENDED' }).where('id', '=', id).execute();
  return true;
}

/** What arrived when its owner died. */
export async function endTransfersOf(db: Transaction<Schema>, owner: string | undefined): Promise<void> {
  const arriving = db.updateTable('transfer_files').set({ state: 'ENDED' }).where('state', '=', 'ARRIVING');
  await (owner === undefined ? arriving : arriving.where('owner', '=', owner)).execute();
}

/**
 * Identifiers of files whose time has ended, or that nobody brings to an end: they have to be
 * removed from the disk, some at a time.
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

/** The file is not on the disk any more, or is there in vain: the tenant has its share back. */
export async function forgetTransfer(db: Transaction<Schema>, id: string): Promise<void> {
  const row = await db
    .deleteFrom('transfer_files')
    .where('id', '=', id)
    .where('state', 'in', ['ARRIVING', 'ENDED'])
    .returning(['tenant', 'bytes'])
    .executeTakeFirst();
  if (row !== undefined) await giveBackShare(db, row.tenant, row.bytes, 1);
}

/** Which of the identifiers have a row. */
export async function knownTransfers(db: Transaction<Schema>, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const rows = await db.selectFrom('transfer_files').select('id').where('id', 'in', ids).execute();
  return rows.map(({ id }) => id);
}

export async function transferShares(db: Transaction<Schema>): Promise<TransferShareRow[]> {
  return db.selectFrom('transfer_shares').selectAll().execute();
}

/** One statement decides: it waits for those of other instances. */
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
