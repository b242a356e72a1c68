import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { AccountComparison, type AccountVerdict } from '../audit/compare-account.ts';
import { verifyAuditLog, type VerifyResult } from '../audit/verify.ts';
import { PgRestore, PgRestoreMissing } from '../state/snapshot/pg-restore.ts';
import { snapshotFacts, type SnapshotFacts } from '../state/snapshot/snapshot-facts.ts';
import { SqliteSnapshot } from '../state/snapshot/sqlite-snapshot.ts';
import { reasonOf } from '../telemetry/reason-of.ts';
import type { BackupFile } from './encrypted-file.ts';
import { logExtent } from './log-extent.ts';
import type { Manifest } from './manifest.ts';
import { readBackup } from './read-backup.ts';
import type { WorkDirectory } from './work-directory.ts';
import { auditFileForm, fileName } from '../audit/file-names.ts';
import { accountFileForm } from '../token/account-files.ts';

const configurationMaxBytes = 1 << 24;

export interface Verified {
  readonly manifest: Manifest;
  /** Content of the configuration file; undefined if it is not where backups have it. */
  readonly configuration: Buffer | undefined;
  readonly audit: VerifyResult | undefined;
  readonly account: AccountVerdict | undefined;
  /** Reasons for which the backup cannot be relied on. */
  readonly faults: readonly string[];
  readonly notes: readonly string[];
}

interface Checked {
  readonly faults: readonly string[];
  readonly notes?: readonly string[];
}

/**
 * Reads a whole backup and checks its parts: digests, the database, the chain of the audit log, and
 * that state, log and account are those of one moment.
 * @throws {BackupFault} if the file is not whole, or is not a backup
 */
export async function verifyBackup(
  backup: BackupFile,
  { work, progress }: { readonly work: WorkDirectory; readonly progress: (bytes: number) => void },
): Promise<Verified> {
  let dump: PgRestore | undefined;
  let first: { readonly name: string; readonly content: Buffer } | undefined;
  try {
    const take = async (name: string, content: AsyncIterable<Uint8Array>): Promise<void> => {
      const [directory, file = '', ...deeper] = name.split('/');
      if (directory === 'configuration') first ??= { name, content: await beginningOfPart(content) };
      else if (name.startsWith('state/postgresql.dump.')) {
        // It reads the dump while it is decrypted, so that no copy of it is on the disk.
        dump ??= new PgRestore(['--file=/dev/null']);
        for await (const piece of content) await dump.write(piece);
      } else if (name === 'state/state.sqlite') await work.write('state', 'state.sqlite', content);
      else if (deeper.length > 0) return;
      else if (directory === 'audit' && auditFileForm.test(file)) await work.write('audit', file, content);
      else if (directory === 'account' && accountFileForm.test(file)) await work.write('account', file, content);
    };
    const manifest = await readBackup(backup, take, progress);
    const state = manifest.state.kind === 'sqlite' ? await checkSqlite(work, manifest) : { ...(await checkDump(dump)), facts: undefined };
    const log = await checkLog(work, manifest, state.facts);
    return {
      manifest,
      configuration: first?.name === `configuration${manifest.configuration}` ? first.content : undefined,
      audit: log.audit,
      account: log.account,
      faults: [...state.faults, ...log.faults],
      notes: [...(state.notes ?? []), ...(log.notes ?? [])],
    };
  } finally {
    await dump?.kill();
  }
}

/** The configuration file is the first of its kind, and short. */
async function beginningOfPart(content: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of content) {
    if (bytes < configurationMaxBytes) chunks.push(Buffer.from(chunk));
    bytes += chunk.length;
  }
  return Buffer.concat(chunks);
}

async function checkSqlite(work: WorkDirectory, manifest: Manifest): Promise<Checked & { readonly facts: SnapshotFacts | undefined }> {
  const path = join(work.path, 'state', 'state.sqlite');
  if (!existsSync(path)) return { faults: ['the backup has no state'], facts: undefined };
  let snapshot: SqliteSnapshot;
  try {
    snapshot = await SqliteSnapshot.openCopy(path);
  } catch (error) {
    return { faults: [`the state is not a database of signetd: ${reasonOf(error)}`], facts: undefined };
  } finally {
    // It stays open, without a name.
    rmSync(path);
  }
  try {
    const found: string[] = [];
    for await (const row of snapshot.rows('select integrity_check as said from pragma_integrity_check')) found.push(JSON.stringify(row));
    const isIntact = found.length === 1 && found[0] === '{"said":"ok"}';
    const facts = await snapshotFacts(snapshot, manifest.audit?.name ?? '');
    const isAsStated =
      JSON.stringify(facts.migrations) === JSON.stringify(manifest.state.migrations) && facts.hasMacKey === manifest.state.hasMacKey;
    return {
      faults: [
        ...(isIntact ? [] : [`the database is damaged: ${found.slice(0, 3).join(' ')}`]),
        ...(isAsStated ? [] : ['the state is not the one that the manifest describes']),
      ],
      facts,
    };
  } catch (error) {
    return { faults: [`the database is damaged: ${reasonOf(error)}`], facts: undefined };
  } finally {
    await snapshot.close();
  }
}

interface LogCheck extends Checked {
  readonly audit: VerifyResult | undefined;
  readonly account: AccountVerdict | undefined;
}

async function checkLog(work: WorkDirectory, { audit, account, time }: Manifest, facts: SnapshotFacts | undefined): Promise<LogCheck> {
  if (audit === null || audit.last === null) return { faults: [], audit: undefined, account: undefined };
  const directory = join(work.path, 'audit');
  if (!existsSync(directory)) return { faults: ['the backup has no audit log'], audit: undefined, account: undefined };
  const accountDirectory = join(work.path, 'account');
  const isFromBeginning = audit.from === null || audit.from === fileName(1);
  const comparison =
    account === null || !existsSync(accountDirectory)
      ? undefined
      : new AccountComparison(accountDirectory, { explained: new Set(), recentFrom: Infinity });
  const result = await verifyAuditLog(directory, {
    publicKeys: (facts?.auditKeys ?? audit.publicKeys).map((key) => Buffer.from(key, 'base64')),
    heads: [audit.last, ...(audit.head === null ? [] : [audit.head])],
    from: isFromBeginning ? undefined : (audit.from ?? undefined),
    observe: comparison?.readerOf(isFromBeginning),
  });
  const verdict = await comparison?.end();
  return {
    audit: result,
    account: verdict,
    faults: [
      ...(result.bad === undefined ? [] : [`audit log: ${result.bad.file}, line ${result.bad.line}: ${result.bad.why}`]),
      ...(verdict?.bad ?? []).map(({ file, line, why }) => `account of uses: ${file}, line ${line}: ${why}`),
      ...(facts === undefined ? [] : await consistencyFaults(directory, facts, audit)),
    ],
    notes:
      verdict === undefined || verdict.unrecordedCount === 0
        ? []
        : [`${verdict.unrecordedCount} uses of keys before ${time} have no record in the audit log; signetctl audit verify lists them`],
  };
}

/** The log must end where the state ends, so that a start finds nothing missing. */
async function consistencyFaults(directory: string, facts: SnapshotFacts, audit: NonNullable<Manifest['audit']>): Promise<string[]> {
  try {
    const { last, later } = await logExtent(directory, facts, undefined);
    if (later === 0 && last?.hash === audit.last?.hash && facts.head?.hash === audit.head?.hash) return [];
    return ['state and audit log are not those of one moment'];
  } catch (error) {
    return [`state and audit log do not belong together: ${reasonOf(error)}`];
  }
}

/** Waits until pg_restore has read the whole dump. */
async function checkDump(dump: PgRestore | undefined): Promise<Checked> {
  if (dump === undefined) return { faults: ['the backup has no state'] };
  try {
    await dump.end();
    return { faults: [], notes: ['pg_restore can read the dump; its rows are compared with the audit log at the next start'] };
  } catch (error) {
    if (error instanceof PgRestoreMissing) return { faults: [], notes: [`${error.message}: the dump was not read`] };
    return { faults: [`the dump cannot be read: ${reasonOf(error)}`] };
  }
}
