import { dirname } from 'node:path';
import type { StateConfig } from '../../config/state-config.ts';
import { asOwnerOf } from '../../service/file-owner.ts';
import type { Logger } from '../../telemetry/log.ts';
import { migrationProvider } from '../migrations/all.ts';
import { openSnapshot } from '../snapshot/open-snapshot.ts';
import type { StateSnapshot } from '../snapshot/state-snapshot.ts';
import type { AuditOutboxRow } from '../tables/audit.ts';
import { CopyRefused, CopyTarget } from './copy-target.ts';
import { copiedTables, type CopiedTable } from './tables.ts';
import { TableDigest, type Row, type TableSummary } from './table-digest.ts';

const rowsAtOnce = 200;
const bytesAtOnce = 8 * 1024 * 1024;

export type CopiedTables = Readonly<Record<CopiedTable, TableSummary>>;

interface CopyOptions {
  readonly from: StateConfig;
  readonly to: StateConfig;
  readonly log: Logger;
  /**
   * Returns the record of the copy, which only the target gets, in the same commit: from then on, the
   * source is older than the log.
   */
  readonly record: (tables: CopiedTables) => AuditOutboxRow | undefined;
  readonly progress?: (rows: number) => void;
}

/**
 * Copies the state store of a stopped service to an empty one, of the same kind or another. Each
 * table is read back and compared, by the number and the digest of its rows, before the one commit.
 * @throws {CopyRefused} if one of the stores is in use, the source is of another version, or the
 *   target is not empty
 * @throws {Error} if a store cannot be read or written; the target is empty then
 */
export async function copyState({ from, to, log, record, progress = () => undefined }: CopyOptions): Promise<CopiedTables> {
  const release = await claim(from);
  try {
    const source = await openSnapshot(from);
    try {
      await checkVersion(source);
      return await CopyTarget.fill(to, log, async (target) => {
        const tables = await copyTables(source, target, progress);
        const row = record(tables);
        if (row !== undefined) await target.insert('audit_outbox', [{ ...row }]);
        return tables;
      });
    } finally {
      await source.close();
    }
  } finally {
    release();
  }
}

async function copyTables(source: StateSnapshot, target: CopyTarget, progress: (rows: number) => void): Promise<CopiedTables> {
  const summaries = new Map<CopiedTable, TableSummary>();
  let done = 0;
  for (const table of copiedTables) {
    const read = new TableDigest();
    for await (const batch of batchesOf(source.rows(`select * from ${table}`))) {
      for (const row of batch) read.add(row);
      await target.insert(table, batch);
      done += batch.length;
      progress(done);
    }
    const written = new TableDigest();
    for await (const row of target.rows(table)) written.add(row);
    const { rows, digest } = read.summary;
    if (written.summary.rows !== rows || written.summary.digest !== digest)
      throw new Error(
        `the table ${table} did not arrive as it was (${rows} rows, ${written.summary.rows} in the target): nothing was copied`,
      );
    summaries.set(table, read.summary);
  }
  // Every table is in the map.
  return Object.fromEntries(summaries) as CopiedTables;
}

async function* batchesOf(rows: AsyncIterable<unknown>): AsyncGenerator<Row[]> {
  let batch: Row[] = [];
  let bytes = 0;
  for await (const one of rows) {
    // Rows of a SELECT.
    const row = { ...(one as Row) };
    batch.push(row);
    for (const value of Object.values(row)) bytes += value instanceof Uint8Array || typeof value === 'string' ? value.length : 0;
    if (batch.length < rowsAtOnce && bytes < bytesAtOnce) continue;
    yield batch;
    batch = [];
    bytes = 0;
  }
  if (batch.length > 0) yield batch;
}

/** Makes sure that no service uses the source: SQLite's stays locked until the result is called. */
async function claim(from: StateConfig): Promise<() => void> {
  if (from.kind === 'postgresql') {
    const { databaseContents } = await import('../snapshot/postgresql-restore.ts');
    const { connections } = await databaseContents(from);
    if (connections > 0) throw new CopyRefused(`an instance of signetd uses the database ${from.database}: stop every instance`);
    return () => undefined;
  }
  const { claimAlone } = await import('../sqlite/sqlite-database.ts');
  try {
    const lock = asOwnerOf(dirname(from.path), () => claimAlone(from.path));
    return () => {
      lock.release();
    };
  } catch (error) {
    throw new CopyRefused(`${from.path}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

/** The target gets the schema of this program, and rows of another one would not fit. */
async function checkVersion(source: StateSnapshot): Promise<void> {
  const known = Object.keys(await migrationProvider.getMigrations()).toSorted();
  const names: string[] = [];
  for await (const row of source.rows('select name from kysely_migration')) names.push(String((row as Row)['name']));
  if (names.toSorted().join() !== known.join())
    throw new CopyRefused('the state store is of another version of signetd: start this version with it once, stop it, and copy then');
}
