import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { NotRunning } from '../../admin/ask.ts';
import { BackupView } from '../../admin/views.ts';
import { createBackup, type Made } from '../../backup/create-backup.ts';
import { PointPassed } from '../../backup/log-extent.ts';
import { encrypterFor, OperatorKeyFault } from '../../backup/operator-keys.ts';
import { loadConfig } from '../../config/config.ts';
import { reasonOf } from '../../telemetry/reason-of.ts';
import { TokenFailure } from '../../token/operator/token-failure.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import type { Outcome } from '../outcome.ts';
import { answerOf } from '../service.ts';
import { fields } from '../table.ts';
import { askToken } from '../token/token-access.ts';
import { showProgress } from '../progress.ts';
import { secretsOf } from './verify.ts';

export const CreateOptions = z.object({
  output: z.string().min(1),
  recipient: z.array(z.string()).min(1),
  account: z.boolean().default(true),
  transferStore: z.boolean().default(false),
});
export type CreateOptions = z.output<typeof CreateOptions>;

/** How often a backup begins anew when it was too slow for the checkpoints of the service. */
const attempts = 3;

/** `backup create`: writes an encrypted backup, while the service runs or is stopped. */
export async function backupCreate(configPath: string, options: CreateOptions): Promise<Outcome> {
  const config = loadConfig(configPath);
  const output = resolve(options.output);
  if (existsSync(output)) throw new CommandError(exitCodes.refused, `${output}: the file exists, and is not overwritten`);
  if (!existsSync(dirname(output))) throw new CommandError(exitCodes.refused, `${dirname(output)}: there is no such directory`);
  const { encrypter, recipients } = keysOf(options.recipient);
  const token = await tokenSerial(configPath);
  const progress = showProgress({ work: 'backup create', unit: 'bytes' });
  const attempt = async (left: number): Promise<{ made: Made; running: Running }> => {
    const running = await begin(configPath);
    try {
      const made = await createBackup({
        ...{ configPath: resolve(configPath), config, output, encrypter, tokenSerial: token.serial },
        ...{ point: running.point, isRunning: running.isRunning },
        ...{ withAccount: options.account && config.audit.enabled, withTransferStore: options.transferStore },
        progress: (bytes) => {
          progress.at(bytes);
        },
      });
      return { made, running };
    } catch (error) {
      if (error instanceof PointPassed && left > 1) return attempt(left - 1);
      throw new CommandError(exitCodes.refused, `no backup was made: ${reasonOf(error)}`);
    }
  };
  const { made, running } = await attempt(attempts).finally(() => {
    progress.end();
  });
  const { manifest, bytes, sha256, later, vanished } = made;
  const endNotes = running.isRunning ? await end(configPath, sha256) : [];
  const last = manifest.audit?.last;
  return {
    json: { file: output, bytes, sha256, recipients, manifest },
    text: `Backup written.\n${fields([
      ['file', output],
      ['size', `${bytes} bytes`],
      ['SHA-256', sha256],
      ['state of', manifest.time],
      ['audit log', last === undefined || last === null ? 'none' : `up to record ${last.n}, ${last.hash}`],
      ['keys in the state', String(manifest.token.keys)],
      ['encrypted to', recipients.join(', ')],
    ])}`,
    notes: [
      ...(manifest.secrets.length === 0 ? [] : [`not in the backup: ${secretsOf(manifest)}`]),
      ...(running.isRunning ? [] : ['signetd is not running']),
      ...token.notes,
      ...(running.stillRunning === 0
        ? []
        : [`${running.stillRunning} requests took longer than the backup waited: signetctl audit verify may list uses of keys for them`]),
      ...(later === 0 ? [] : [`${later} records that are later than the state are left out`]),
      ...(vanished === 0 ? [] : [`${vanished} files of the transfer store were removed meanwhile`]),
      ...endNotes,
    ],
  };
}

function keysOf(named: readonly string[]): ReturnType<typeof encrypterFor> {
  try {
    return encrypterFor(named);
  } catch (error) {
    if (error instanceof OperatorKeyFault) throw new CommandError(exitCodes.usage, error.message);
    throw error;
  }
}

interface Running {
  readonly isRunning: boolean;
  readonly point: { readonly n: number; readonly hash: string; readonly file: number } | undefined;
  readonly stillRunning: number;
}

/** Lets the running service make the checkpoint at which the backup is made. */
async function begin(configPath: string): Promise<Running> {
  try {
    const { point } = (await answerOf(configPath, { command: 'backup create' }, BackupView)).result;
    if (point === null) return { isRunning: true, point: undefined, stillRunning: 0 };
    const { stillRunning, ...place } = point;
    return { isRunning: true, point: place, stillRunning };
  } catch (error) {
    if (error instanceof NotRunning) return { isRunning: false, point: undefined, stillRunning: 0 };
    throw error;
  }
}

/** Records the digest of the file in the audit log. */
async function end(configPath: string, sha256: string): Promise<string[]> {
  try {
    await answerOf(configPath, { command: 'backup end', sha256 }, z.null());
    return [];
  } catch (error) {
    return [`the SHA-256 of the backup is not in the audit log: ${reasonOf(error)}`];
  }
}

/** The serial number of the token, which tells later whether it is the same one. */
async function tokenSerial(configPath: string): Promise<{ readonly serial: string | undefined; readonly notes: readonly string[] }> {
  try {
    const { value } = await askToken(configPath, async (reports, { label }) => {
      const slot = (await reports.slots()).find(({ token }) => token?.label === label);
      return slot?.token?.serial;
    });
    return { serial: value, notes: value === undefined ? ['there is no token with the configured label: its serial is not recorded'] : [] };
  } catch (error) {
    if (!(error instanceof TokenFailure)) throw error;
    return { serial: undefined, notes: [`the serial of the token is not recorded: ${error.message}`] };
  }
}
