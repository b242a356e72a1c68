import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { credentialFile, credentialStore } from '../../config/encrypted-credential.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import { writeOwned } from './machine.ts';
import { say } from '../terminal.ts';

/** What encrypts credentials (systemd-creds(1), --with-key); `auto` leaves it to systemd. */
export const credentialKeys = ['auto', 'host', 'tpm2', 'host+tpm2'] as const;
export type CredentialKey = (typeof credentialKeys)[number];

/**
 * Encrypts a secret for the units of signetd. systemd-creds gets it on its standard input, so that
 * it is never on a disk in clear. Makes the key of the machine if there is none.
 * @throws {CommandError}
 */
export function storeCredential(name: string, secret: string | Uint8Array, key: CredentialKey): void {
  mkdirSync(credentialStore, { recursive: true, mode: 0o700 });
  let { status, stdout, reason } = encrypted(name, secret, key === 'auto' ? [] : [`--with-key=${key}`]);
  if (status !== 0 && key === 'auto') {
    const first = reason;
    ({ status, stdout, reason } = encrypted(name, secret, ['--with-key=host']));
    if (status === 0) say(`Note: the credential ${name} is encrypted with the key of the machine only, since systemd reports: ${first}`);
  }
  if (status !== 0) throw new CommandError(exitCodes.faultFound, `systemd-creds cannot encrypt the credential ${name}: ${reason}`);
  writeOwned(credentialFile(name), stdout, 0o600);
}

export function removeCredential(name: string): void {
  rmSync(credentialFile(name), { force: true });
}

function encrypted(
  name: string,
  secret: string | Uint8Array,
  options: readonly string[],
): { status: number | null; stdout: Buffer; reason: string } {
  const { status, error, stdout, stderr } = spawnSync('systemd-creds', ['encrypt', `--name=${name}`, ...options, '-', '-'], {
    input: secret,
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LANG: 'C.UTF-8' },
  });
  return { status, stdout, reason: error?.message ?? stderr.toString('utf8').trim() };
}
