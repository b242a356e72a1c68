import { readdirSync, statSync, type Stats } from 'node:fs';
import { open } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import type { Encrypter } from 'age-encryption';
import type { FilePlace } from '../audit/record.ts';
import type { Config } from '../config/config.ts';
import { accountDirectoryOf } from '../config/token-config.ts';
import { fileIdForm } from '../documents/transfer/transfer-parts.ts';
import { snapshotFacts, type SnapshotFacts } from '../state/snapshot/snapshot-facts.ts';
import { openSnapshot } from '../state/snapshot/open-snapshot.ts';
import type { StateSnapshot } from '../state/snapshot/state-snapshot.ts';
import { storedKeys } from '../state/snapshot/token-keys.ts';
import { version } from '../telemetry/version.ts';
import { accountExtent } from './account-extent.ts';
import { archiveOf, beginningOf, bytesOf, type PartSource } from './archive.ts';
import { writeEncrypted, type WrittenFile } from './encrypted-file.ts';
import { logExtent, type FileExtent, type LogExtent } from './log-extent.ts';
import type { Directory, Manifest, PartKind } from './manifest.ts';
import { namedFiles } from './named-files.ts';
import { ownershipOf, type Ownership } from './owners.ts';
import { aboutText } from './about-text.ts';
import { errorCode } from '../telemetry/error-code.ts';

export interface BackupOptions {
  readonly configPath: string;
  readonly config: Config;
  readonly output: string;
  readonly encrypter: Encrypter;
  /** The checkpoint that the running service made for this; undefined if it is not running. */
  readonly point: FilePlace | undefined;
  readonly isRunning: boolean;
  readonly withAccount: boolean;
  readonly withTransferStore: boolean;
  readonly tokenSerial: string | undefined;
  readonly progress: (bytes: number) => void;
}

export interface Made extends WrittenFile {
  readonly manifest: Manifest;
  /** Number of records of the log that are later than the state. */
  readonly later: number;
  /** Files of the transfer store that were removed while the backup was made. */
  readonly vanished: number;
}

/** What a backup consists of, fixed at one moment. */
interface Fixed {
  readonly time: string;
  readonly snapshot: StateSnapshot;
  readonly facts: SnapshotFacts;
  readonly log: LogExtent | undefined;
  readonly account: readonly FileExtent[] | undefined;
}

/**
 * Writes a backup while the service runs or is stopped.
 * @throws {PointPassed} @throws {Error} if something cannot be read, or the file cannot be written
 */
export async function createBackup(options: BackupOptions): Promise<Made> {
  const { config, output, encrypter, progress } = options;
  const fixed = await fix(options);
  const counts = { keys: 0, vanished: 0 };
  const directories = new Map<string, Ownership>();
  const secrets: Manifest['secrets'][number][] = [];
  let manifest: Manifest | undefined;
  try {
    const parts = partsOf(options, fixed, { counts, directories, secrets });
    const archive = archiveOf(
      parts,
      (written) => {
        manifest = manifestOf(options, fixed, {
          keys: counts.keys,
          secrets,
          directories: [...directories].map(([path, ownership]) => ({ path, ...ownership })),
          parts: [...written],
        });
        return manifest;
      },
      progress,
    );
    const written = await writeEncrypted(output, encrypter, archive);
    if (manifest === undefined) throw new Error(`${config.state.kind}: the archive has no manifest`);
    return { ...written, manifest, later: fixed.log?.later ?? 0, vanished: counts.vanished };
  } finally {
    await fixed.snapshot.close();
  }
}

/** Fixes the state first: records whose commits it lacks are then left out of the log. */
async function fix({ config, point, withAccount }: BackupOptions): Promise<Fixed> {
  const snapshot = await openSnapshot(config.state);
  try {
    const time = new Date().toISOString();
    const facts = await snapshotFacts(snapshot, config.audit.name);
    const log = config.audit.enabled ? await logExtent(config.audit.directory, facts, point) : undefined;
    const account = withAccount ? await accountExtent(accountDirectoryOf(config.token), log?.account) : undefined;
    return { time, snapshot, facts, log, account };
  } catch (error) {
    await snapshot.close();
    throw error;
  }
}

interface Gathered {
  readonly counts: { keys: number; vanished: number };
  readonly directories: Map<string, Ownership>;
  readonly secrets: Manifest['secrets'][number][];
}

async function* partsOf(options: BackupOptions, { snapshot, log, account }: Fixed, gathered: Gathered): AsyncGenerator<PartSource> {
  const { configPath, config, withTransferStore } = options;
  const { counts, directories, secrets } = gathered;
  const file = (kind: PartKind, name: string, { path, bytes }: Pick<FileExtent, 'path' | 'bytes'>, stats = statSync(path)): PartSource => {
    const directory = dirname(path);
    if (!directories.has(directory)) directories.set(directory, ownershipOf(statSync(directory)));
    return { kind, name, bytes, path, ...ownershipOf(stats), content: beginningOf({ path, bytes }) };
  };
  const own = (name: string, text: string): PartSource => {
    const bytes = Buffer.from(text);
    return { kind: 'about', name, bytes: bytes.length, path: null, user: 'root', group: 'root', mode: 0o600, content: bytesOf(bytes) };
  };
  yield own('README.txt', aboutText);
  const named = namedFiles(config);
  secrets.push(...named.secrets);
  for (const path of [configPath, ...named.files])
    yield file('configuration', `configuration${path}`, { path, bytes: statSync(path).size });
  const statePath = config.state.kind === 'sqlite' ? config.state.path : null;
  if (statePath !== null) directories.set(dirname(statePath), ownershipOf(statSync(dirname(statePath))));
  const ownership = statePath === null ? { user: 'root', group: 'root', mode: 0o600 } : ownershipOf(statSync(statePath));
  for await (const { name, bytes, content } of snapshot.files())
    yield { kind: 'state', name: `state/${name}`, bytes, path: statePath, ...ownership, content };
  for (const extent of log?.files ?? []) yield file('audit', `audit/${extent.name}`, extent);
  for (const extent of account ?? []) yield file('account', `account/${extent.name}`, extent);
  if (withTransferStore && config.transferStore !== undefined) {
    const { directory } = config.transferStore;
    for (const name of filesIn(directory)) {
      const opened = await openIfThere(join(directory, name));
      if (opened === undefined) counts.vanished += 1;
      else yield { ...file('transfer', `transfer/${name}`, opened, opened.stats), content: opened.content };
    }
  }
  // Last, since its size is known only once all keys are read.
  const keys: string[] = [];
  for await (const key of storedKeys(snapshot)) keys.push(`${JSON.stringify(key)}\n`);
  counts.keys = keys.length;
  yield own('token-keys.jsonl', keys.join(''));
}

interface OpenedFile extends Pick<FileExtent, 'path' | 'bytes'>, Pick<PartSource, 'content'> {
  readonly stats: Stats;
}

/** Opens a file that the service may remove at any moment. */
async function openIfThere(path: string): Promise<OpenedFile | undefined> {
  const handle = await open(path, 'r').catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  });
  if (handle === undefined) return undefined;
  const stats = await handle.stat();
  const bytes = stats.size;
  if (bytes > 0) return { path, bytes, stats, content: handle.createReadStream({ start: 0, end: bytes - 1 }) };
  await handle.close();
  return { path, bytes, stats, content: bytesOf(Buffer.alloc(0)) };
}

function filesIn(directory: string): string[] {
  try {
    return readdirSync(directory, { withFileTypes: true })
      .filter((entry) => entry.isFile() && fileIdForm.test(entry.name))
      .map(({ name }) => name);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return [];
    throw error;
  }
}

interface Contents {
  readonly keys: number;
  readonly secrets: Manifest['secrets'];
  readonly directories: Directory[];
  readonly parts: Manifest['parts'];
}

function manifestOf(options: BackupOptions, { time, facts, log, account }: Fixed, { keys, ...contents }: Contents): Manifest {
  const { configPath, config, isRunning, withTransferStore, tokenSerial } = options;
  const { audit, token, transferStore } = config;
  return {
    format: 'signetd backup',
    formatVersion: 1,
    time,
    versions: { signetd: version(), node: process.versions.node },
    host: hostname(),
    running: isRunning,
    configuration: configPath,
    token: { label: token.label, serial: tokenSerial ?? null, keys },
    state: { kind: config.state.kind, migrations: [...facts.migrations], hasMacKey: facts.hasMacKey },
    audit:
      log === undefined
        ? null
        : {
            name: audit.name,
            directory: audit.directory,
            from: log.files[0]?.name ?? null,
            last: log.last ?? null,
            head: facts.head ?? null,
            publicKeys: [...facts.auditKeys],
          },
    account: account === undefined ? null : { directory: accountDirectoryOf(token) },
    transfer: withTransferStore && transferStore !== undefined ? { directory: transferStore.directory } : null,
    ...contents,
  };
}
