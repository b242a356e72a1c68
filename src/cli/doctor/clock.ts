import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { tailOf } from '../../audit/tail.ts';
import type { Config } from '../../config/config.ts';
import { fault, good, warning, type Diagnosis } from './diagnosis.ts';

const execute = promisify(execFile);
const slackMs = 5000;
const timedatectlMs = 5000;

/**
 * Diagnoses the machine's clock, which locks, certificates and time-stamps use: whether it went
 * back, and whether it is synchronised.
 */
export async function clock({ audit }: Config): Promise<Diagnosis> {
  const newest = await newestRecord(audit.directory);
  if (newest !== undefined && newest.getTime() > Date.now() + slackMs) {
    return fault(
      'clock',
      `it went back: the newest audit record is from ${newest.toISOString()}; set the clock, then find out why it went back`,
    );
  }
  const isSet = await isSynchronised();
  const now = new Date().toISOString();
  if (isSet === undefined) return warning('clock', `it shows ${now}; timedatectl does not report whether it is synchronised: check NTP`);
  return isSet
    ? good('clock', `it shows ${now} and is synchronised by NTP`)
    : warning(
        'clock',
        `it shows ${now} and is not synchronised: run timedatectl set-ntp true (Debian: apt install systemd-timesyncd, if there is no NTP client)`,
      );
}

async function newestRecord(directory: string): Promise<Date | undefined> {
  try {
    const line = (await tailOf(directory, 1))?.lines.at(-1);
    const record: unknown = line === undefined ? undefined : JSON.parse(line);
    return typeof record === 'object' && record !== null && 'time' in record && typeof record.time === 'string'
      ? new Date(record.time)
      : undefined;
  } catch {
    return undefined;
  }
}

async function isSynchronised(): Promise<boolean | undefined> {
  try {
    const { stdout } = await execute('timedatectl', ['show', '--property=NTPSynchronized', '--value'], { timeout: timedatectlMs });
    return stdout.trim() === '' ? undefined : stdout.trim() === 'yes';
  } catch {
    return undefined;
  }
}
