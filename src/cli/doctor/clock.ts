import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { newestRecordAt } from '../../audit/newest-record.ts';
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
  const newest = await newestRecordAt(audit.directory).catch(() => undefined);
  if (newest !== undefined && newest > Date.now() + slackMs) {
    return fault(
      'clock',
      `it went back: the newest audit record is from ${new Date(newest).toISOString()}, and the clock shows ${new Date().toISOString()}: set the clock, then find out why it went back; ` +
        'if the clock is right and the records are not, and signetd waits for it, run signetctl clock confirm',
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

async function isSynchronised(): Promise<boolean | undefined> {
  try {
    const { stdout } = await execute('timedatectl', ['show', '--property=NTPSynchronized', '--value'], { timeout: timedatectlMs });
    return stdout.trim() === '' ? undefined : stdout.trim() === 'yes';
  } catch {
    return undefined;
  }
}
