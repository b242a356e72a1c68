import { existsSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { askService, AdminFailure, NotRunning } from '../../admin/ask.ts';
import { auditFiles } from '../../audit/file-names.ts';
import { findTail } from '../../audit/find-tail.ts';
import { BackupFault, type BackupFile } from '../../backup/encrypted-file.ts';
import type { Manifest } from '../../backup/manifest.ts';
import { restoreDatabase } from '../../backup/restore-database.ts';
import { MissingOwners } from '../../backup/owners.ts';
import { RestoreDirectories } from '../../backup/restore-directories.ts';
import { restoreFiles } from '../../backup/restore-files.ts';
import { lockFiles, lockForRestore } from '../../backup/restore-locks.ts';
import { RestorePlaces } from '../../backup/restore-places.ts';
import { choices, restoreTargets, type Choice, type Targets } from '../../backup/restore-targets.ts';
import type { Verified } from '../../backup/verify-backup.ts';
import { ConfigError } from '../../config/config-error.ts';
import { loadAdminConfig, loadConfig, parseConfig, type Config } from '../../config/config.ts';
import type { PostgresqlConfig } from '../../config/state-config.ts';
import { databaseContents } from '../../state/snapshot/postgresql-restore.ts';
import { reasonOf } from '../../telemetry/reason-of.ts';
import { TokenFailure } from '../../token/operator/token-failure.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import type { Outcome } from '../outcome.ts';
import { fields } from '../table.ts';
import { showProgress } from '../progress.ts';
import { comparedWithToken } from './compare.ts';
import { readAndVerify, readingOptions, secretsOf } from './verify.ts';

/** What can be restored without the audit log, which then shows what came after the backup. */
const withLog: readonly Choice[] = ['configuration', 'state'];

export const RestoreOptions = z.object({
  ...readingOptions,
  to: z.string().default('/'),
  only: z
    .string()
    .transform((list) => list.split(',').map((one) => one.trim()))
    .pipe(z.array(z.enum(choices, { error: `parts are ${choices.join(', ')}` })).min(1))
    .optional(),
  replace: z.boolean().default(false),
  anyOrigin: z.boolean().default(false),
  allowPath: z.array(z.string().startsWith('/', 'not an absolute path')).default([]),
});
export type RestoreOptions = z.output<typeof RestoreOptions>;

/** `backup restore`: puts a backup into place, while signetd and its token host are stopped. */
export async function backupRestore(ownConfigPath: string, options: RestoreOptions): Promise<Outcome> {
  // Whoever has a public key can make a backup, with a configuration that root would follow.
  if (options.sha256 === undefined && !options.anyOrigin)
    throw new CommandError(
      exitCodes.usage,
      '--sha256 is missing: only the digest that backup create printed, and the audit log has, tells that this backup is yours; --any-origin restores it without, to places of signetd, and with it whatever its author wrote into the configuration',
    );
  if (options.allowPath.length > 0 && options.sha256 !== undefined)
    throw new CommandError(
      exitCodes.usage,
      '--allow-path is only for --any-origin without --sha256: a backup of your own goes to where it was',
    );
  const { verified, backup } = await readAndVerify(options);
  const { manifest } = verified;
  if (verified.faults.length > 0)
    throw new CommandError(exitCodes.faultFound, ['the backup is damaged, and nothing was restored', ...verified.faults].join('\n'));
  const root = resolve(options.to);
  const chosen = new Set<Choice>(options.only ?? choices);
  const places = options.sha256 === undefined ? placesHere(ownConfigPath, options.allowPath) : undefined;
  const targets = await inOneStep(async () =>
    Promise.resolve(restoreTargets(manifest, configurationIn(verified), { chosen, root, places })),
  );
  const configPath = join(root, manifest.configuration);
  // Below another directory, it is not the service of this machine that is in the way.
  if (root === '/') await checkStopped(configPath);
  const database = manifest.state.kind === 'postgresql' && chosen.has('state') ? databaseOf(configPath) : undefined;
  await checkEmpty(manifest, targets, { database, replace: options.replace, root, chosen });
  const owners = new MissingOwners();
  const restored = await putInPlace(backup, { manifest, targets, database, owners });
  const compared = await compare(configPath, root);
  const { names, kept } = restored;
  return {
    json: { restored: names, kept, token: compared.json },
    text: `Backup of ${manifest.time} restored.\n${fields([
      ['restored', `${names.length} files${database === undefined ? '' : `, database ${database.database}`}`],
      ['kept aside', kept.length === 0 ? 'nothing' : kept.join(', ')],
    ])}${compared.text}`,
    faults: compared.faults,
    notes: [
      ...owners.notes(),
      ...compared.notes,
      ...(manifest.secrets.length === 0 ? [] : [`not in the backup, put them in place: ${secretsOf(manifest)}`]),
      ...(chosen.has('audit') ? [] : await laterLog(manifest, chosen, root)),
    ],
  };
}

/** @throws {BackupFault} if it is not there, or not one that this version understands */
function configurationIn({ manifest, configuration }: Verified): Config {
  if (configuration === undefined) throw new BackupFault('nothing was restored: the backup does not have its configuration');
  try {
    return parseConfig(manifest.configuration, configuration.toString('utf8'));
  } catch (error) {
    if (error instanceof ConfigError)
      throw new BackupFault(`nothing was restored: the configuration in the backup cannot be used: ${error.message}`, { cause: error });
    throw error;
  }
}

/** The places of a backup of unknown origin. */
function placesHere(configPath: string, allowed: readonly string[]): RestorePlaces {
  let present: Config | undefined;
  try {
    present = loadConfig(configPath);
  } catch (error) {
    // Nothing is installed here yet, or it is what has to be restored.
    if (!(error instanceof ConfigError)) throw error;
  }
  return new RestorePlaces({ configPath, present, allowed });
}

interface RestoredAll {
  readonly names: readonly string[];
  readonly kept: readonly string[];
}

interface Wanted {
  readonly manifest: Manifest;
  readonly targets: Targets;
  readonly database: PostgresqlConfig | undefined;
  readonly owners: MissingOwners;
}

/** Makes the directories, takes the locks and restores; what was made for a failure goes again. */
async function putInPlace(backup: BackupFile, wanted: Wanted): Promise<RestoredAll> {
  const { manifest, targets, owners } = wanted;
  const directories = new RestoreDirectories();
  try {
    await inOneStep(async () => {
      directories.make(targets, owners);
      return Promise.resolve();
    });
    const lock = locked(manifest, targets);
    return await inOneStep(async () => restoreAll(backup, wanted)).finally(() => {
      lock.release();
    });
  } catch (error) {
    directories.remove(lockFiles(manifest, targets));
    throw error;
  }
}

async function restoreAll(backup: BackupFile, { targets, database, owners }: Wanted): Promise<RestoredAll> {
  const progress = showProgress({ work: 'backup restore', unit: 'bytes', total: statSync(backup.path).size });
  const at = (bytes: number): void => {
    progress.at(bytes);
  };
  try {
    const { restored, kept } = await restoreFiles(backup, targets, { progress: at, owners });
    const schema = database === undefined ? undefined : await restoreDatabase(backup, database, at);
    return { names: restored, kept: schema === undefined ? kept : [...kept, `schema ${schema} of the database`] };
  } finally {
    progress.end();
  }
}

/** Turns what went wrong into one message with the exit code of a refusal. */
async function inOneStep<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof BackupFault) throw new CommandError(exitCodes.faultFound, error.message);
    throw new CommandError(exitCodes.refused, `the backup was not restored completely: ${reasonOf(error)}`);
  }
}

/** @throws {CommandError} if the service runs */
async function checkStopped(configPath: string): Promise<void> {
  let socketPath: string;
  try {
    ({ socketPath } = loadAdminConfig(configPath));
  } catch (error) {
    // Nothing is installed here yet.
    if (error instanceof ConfigError) return;
    throw error;
  }
  try {
    await askService(socketPath, { command: 'status' });
  } catch (error) {
    if (error instanceof NotRunning) return;
    if (!(error instanceof AdminFailure)) throw error;
  }
  throw new CommandError(exitCodes.refused, 'signetd is running: stop it and its token host first');
}

function locked(manifest: Manifest, targets: Targets): ReturnType<typeof lockForRestore> {
  try {
    return lockForRestore(manifest, targets);
  } catch (error) {
    throw new CommandError(exitCodes.refused, `${reasonOf(error)}: stop signetd and its token host first`);
  }
}

/**
 * The database that the configuration names: its connection needs secrets, which are in no backup.
 */
function databaseOf(configPath: string): PostgresqlConfig {
  const first = `restore the configuration first (--only configuration), and put its secrets in place`;
  if (!existsSync(configPath))
    throw new CommandError(exitCodes.refused, `there is no ${configPath} with the connection to the database: ${first}`);
  const { state } = loadConfig(configPath);
  if (state.kind === 'postgresql') return state;
  throw new CommandError(exitCodes.refused, `${configPath}: state is not PostgreSQL, as it was for the backup: ${first}`);
}

interface Place {
  readonly database: PostgresqlConfig | undefined;
  readonly replace: boolean;
  readonly root: string;
  readonly chosen: ReadonlySet<Choice>;
}

/** @throws {CommandError} if something would be replaced that is not to be */
async function checkEmpty(manifest: Manifest, { existing }: Targets, { database, replace, root, chosen }: Place): Promise<void> {
  const contents = database === undefined ? undefined : await inOneStep(async () => databaseContents(database));
  if (contents !== undefined && contents.connections > 0)
    throw new CommandError(exitCodes.refused, `signetd has ${contents.connections} connections to the database: stop every instance first`);
  const inTheWay = [
    ...existing,
    ...(contents === undefined || contents.tables.length === 0 ? [] : [`${contents.tables.length} tables of the database`]),
  ];
  if (inTheWay.length === 0 || replace) return;
  const shown = inTheWay.slice(0, 10);
  throw new CommandError(
    exitCodes.refused,
    [
      'nothing was restored, since these exist already; --replace restores and keeps them under other names',
      ...shown,
      ...(inTheWay.length > shown.length ? [`and ${inTheWay.length - shown.length} more`] : []),
      ...(await laterLog(manifest, chosen, root)),
    ].join('\n'),
  );
}

/** What to know about an audit log that is here and goes on after the backup. */
async function laterLog({ audit }: Manifest, chosen: ReadonlySet<Choice>, root: string): Promise<string[]> {
  if (audit === null || audit.last === null || !(chosen.has('audit') || chosen.has('state'))) return [];
  const directory = join(root, audit.directory);
  if (!existsSync(directory) || (await auditFiles(directory)).length === 0) return [];
  const { tail } = await findTail(directory, undefined);
  if (tail.n <= audit.last.n) return [];
  const kept = withLog.filter((choice) => chosen.has(choice));
  const keep = kept.length === 0 ? 'do not restore audit' : `--only ${kept.join(',')}`;
  const advice = chosen.has('audit') ? `If the log is intact, keep it (${keep}): signetd then` : 'It is kept: signetd then';
  return [
    `the audit log here goes on to record ${tail.n}, the backup to record ${audit.last.n}. ${advice} finds what came after the backup, and waits for signetctl state compare and state confirm`,
  ];
}

interface ComparedAfter {
  readonly json: unknown;
  readonly text: string;
  readonly faults: readonly string[];
  readonly notes: readonly string[];
}

/** Compares with the token, if it can be reached: its PIN may not be in place yet. */
async function compare(configPath: string, root: string): Promise<ComparedAfter> {
  try {
    const { comparison, text, faults, notes } = await comparedWithToken(configPath, root);
    return { json: comparison, text, faults, notes };
  } catch (error) {
    if (!(error instanceof TokenFailure || error instanceof ConfigError)) throw error;
    const later = `the keys were not compared with the token: ${error.message.split('\n')[0] ?? ''}; do it with signetctl backup compare before signetd starts`;
    return { json: null, text: '', faults: [], notes: [later] };
  }
}
