import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { AccountComparison, type AccountVerdict } from '../audit/compare-account.ts';
import { verifyAuditLog, type VerifyResult } from '../audit/verify.ts';
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

export interface Verified {
  readonly manifest: Manifest;
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
  let dump: DumpCheck | undefined;
  try {
    const take = async (name: string, content: AsyncIterable<Uint8Array>): Promise<void> => {
      const [directory, file = ''] = name.split('/');
      if (name.startsWith('state/postgresql.dump.')) await (dump ??= new DumpCheck()).take(content);
      else if (name === 'state/state.sqlite') await work.write('state', 'state.sqlite', content);
      else if (directory === 'audit' && auditFileForm.test(file)) await work.write('audit', file, content);
      else if (directory === 'account' && accountFileForm.test(file)) await work.write('account', file, content);
    };
    const manifest = await readBackup(backup, take, progress);
    const state = manifest.state.kind === 'sqlite' ? await checkSqlite(work, manifest) : { ...(await dumped(dump)), facts: undefined };
    const log = await checkLog(work, manifest, state.facts);
    return {
      manifest,
      audit: log.audit,
      account: log.account,
      faults: [...state.faults, ...log.faults],
      notes: [...(state.notes ?? []), ...(log.notes ?? [])],
    };
  } finally {
    dump?.kill();
  }
}

async function dumped(dump: DumpCheck | undefined): Promise<Checked> {
  return dump === undefined ? { faults: ['the backup has no state'] } : dump.end();
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
      : new AccountComparison(accountDirectory, { explained: new Set(), recentFrom: Infinity, isFromBeginning });
  const result = await verifyAuditLog(directory, {
    publicKeys: (facts?.auditKeys ?? audit.publicKeys).map((key) => Buffer.from(key, 'base64')),
    heads: [audit.last, ...(audit.head === null ? [] : [audit.head])],
    from: isFromBeginning ? undefined : (audit.from ?? undefined),
    observe: async (record) => comparison?.take(record),
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

/** Has pg_restore read a dump while it is decrypted, so that no copy of it is on the disk. */
class DumpCheck {
  readonly #child: ChildProcess;
  readonly #said: Promise<string>;
  readonly #closed: Promise<unknown[]>;
  #fault: string | undefined;

  constructor() {
    this.#child = spawn('pg_restore', ['--file=/dev/null'], { stdio: ['pipe', 'ignore', 'pipe'] });
    this.#said = this.#child.stderr === null ? Promise.resolve('') : text(this.#child.stderr);
    this.#closed = once(this.#child, 'close').catch((error: unknown) => {
      this.#fault = reasonOf(error);
      return [];
    });
    // It ended early: its exit status says why.
    this.#child.stdin?.on('error', () => undefined);
  }

  async take(content: AsyncIterable<Uint8Array>): Promise<void> {
    for await (const chunk of content) {
      const { stdin } = this.#child;
      if (stdin === null || stdin.destroyed) continue;
      if (!stdin.write(chunk)) await Promise.race([once(stdin, 'drain').catch(() => undefined), this.#closed]);
    }
  }

  async end(): Promise<Checked> {
    this.#child.stdin?.end();
    const [code] = await this.#closed;
    if (this.#fault?.includes('ENOENT') === true)
      return { faults: [], notes: ['pg_restore is not installed (Debian package postgresql-client): the dump was not read'] };
    if (code !== 0) return { faults: [`the dump cannot be read by pg_restore: ${(await this.#said).trim().replaceAll('\n', '; ')}`] };
    return { faults: [], notes: ['pg_restore can read the dump; its rows are compared with the audit log at the next start'] };
  }

  kill(): void {
    this.#child.kill();
  }
}
