import { existsSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { z } from 'zod';
import { BackupFault, checkDigest, type BackupFile } from '../../backup/encrypted-file.ts';
import { decrypterWith, OperatorKeyFault } from '../../backup/operator-keys.ts';
import type { Manifest } from '../../backup/manifest.ts';
import { wrongParts } from '../../backup/part-paths.ts';
import { verifyBackup, type Verified } from '../../backup/verify-backup.ts';
import { WorkDirectory } from '../../backup/work-directory.ts';
import { ConfigError } from '../../config/config-error.ts';
import { parseConfig } from '../../config/config.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import type { Outcome } from '../outcome.ts';
import { fields } from '../table.ts';
import { showProgress } from '../progress.ts';

/** Options of the commands that read a backup. */
export const readingOptions = {
  file: z.string().min(1),
  identity: z.string().min(1),
  sha256: z
    .string()
    .regex(/^[0-9a-fA-F]{64}$/, 'not a SHA-256: 64 hexadecimal digits')
    .optional(),
  workDirectory: z.string().optional(),
};
export const VerifyOptions = z.object(readingOptions);
export type VerifyOptions = z.output<typeof VerifyOptions>;

/** `backup verify`: checks a whole backup. It needs no configuration and no token. */
export async function backupVerify(_configPath: string, options: VerifyOptions): Promise<Outcome> {
  const { verified, sha256 } = await readAndVerify(options);
  const { manifest, notes } = verified;
  const faults = [...verified.faults, ...refusedPaths(verified)];
  return {
    json: { file: options.file, sha256, intact: faults.length === 0, manifest, audit: verified.audit, account: verified.account, faults },
    text: fields(verifiedFields(options.file, sha256, { ...verified, faults })),
    faults,
    notes: [...notes, ...(manifest.secrets.length === 0 ? [] : [`not in the backup: ${secretsOf(manifest)}`])],
  };
}

/** Says for which files of the backup, wherever it is restored, a restore would be refused. */
function refusedPaths({ manifest, configuration }: Verified): string[] {
  if (configuration === undefined) return ['the backup does not have its configuration'];
  try {
    return wrongParts(manifest, parseConfig(manifest.configuration, configuration.toString('utf8')));
  } catch (error) {
    if (error instanceof ConfigError) return [`the configuration in the backup cannot be used: ${error.message}`];
    throw error;
  }
}

/** The secrets that a backup does not have. */
export function secretsOf({ secrets }: Manifest): string {
  return [...new Set(secrets.map(({ reference }) => reference))].join(', ');
}

export function verifiedFields(file: string, sha256: string, { manifest, audit, account, faults }: Verified): [string, string][] {
  const { versions, host, time, token, state, parts } = manifest;
  const bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
  return [
    ['file', file],
    ['SHA-256', sha256],
    ['made', `${time}, by signetd ${versions.signetd} on ${host}`],
    ['token', `${token.label}, ${token.serial === null ? 'serial unknown' : `serial ${token.serial}`}; ${token.keys} keys in the state`],
    ['state', state.kind === 'sqlite' ? 'SQLite' : 'PostgreSQL'],
    ['content', `${parts.length} files, ${bytes} bytes`],
    ['audit log', audit === undefined ? 'none' : `${audit.records} records up to record ${audit.last?.n ?? 0}, ${audit.last?.hash ?? ''}`],
    ...(account === undefined
      ? []
      : [['account', `${account.recorded} uses with a record, ${account.unrecordedCount} without`] satisfies [string, string]]),
    ['verdict', faults.length === 0 ? 'the backup is whole and consistent' : 'the backup is DAMAGED'],
  ];
}

/**
 * Decrypts and checks a backup.
 * @throws {CommandError} if it is not whole, or the key does not fit
 */
export async function readAndVerify({ file, identity, sha256: expected, workDirectory }: VerifyOptions): Promise<{
  readonly verified: Verified;
  readonly sha256: string;
  /** Readable only as long as it is the file that was verified. */
  readonly backup: BackupFile;
}> {
  if (!existsSync(file)) throw new CommandError(exitCodes.usage, `${file}: there is no such file`);
  const progress = showProgress({ work: 'backup verify', unit: 'bytes', total: statSync(file).size });
  let work: WorkDirectory | undefined;
  try {
    const decrypter = decrypterWith(identity);
    const sha256 = await checkDigest(file, expected);
    const backup = { path: file, decrypter, sha256 };
    work = new WorkDirectory(workDirectory ?? tmpdir());
    const verified = await verifyBackup(backup, {
      work,
      progress: (bytes) => {
        progress.at(bytes);
      },
    });
    return { verified, sha256, backup };
  } catch (error) {
    if (error instanceof OperatorKeyFault) throw new CommandError(exitCodes.usage, error.message);
    if (error instanceof BackupFault) throw new CommandError(exitCodes.faultFound, error.message);
    throw error;
  } finally {
    progress.end();
    work?.remove();
  }
}
