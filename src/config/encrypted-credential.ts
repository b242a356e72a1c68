import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError } from './config-error.ts';

/** systemd's store of encrypted credentials; those of signetd's units begin with `signetd.`. */
export const credentialStore = '/etc/credstore.encrypted';
const timeoutMs = 30_000;
const maxBytes = 1024 * 1024;

/** Returns the file from which the units of signetd load a credential. */
export function credentialFile(name: string): string {
  return join(credentialStore, `signetd.${name}`);
}

/**
 * Whether this process can decrypt a credential of signetd's units: it is root, and the file
 * exists.
 */
export function canDecrypt(name: string): boolean {
  return process.geteuid?.() === 0 && existsSync(credentialFile(name));
}

/**
 * Decrypts a credential of signetd's units (systemd-creds(1)), which only root can. Nothing is
 * written to a disk. The caller should wipe the bytes.
 * @param reference for messages
 * @throws {ConfigError} if there is no such credential, or this machine cannot decrypt it
 */
export function decryptedCredential(reference: string, name: string): Buffer {
  const file = credentialFile(name);
  if (!existsSync(file)) throw new ConfigError(`${reference}: there is no credential ${file}`);
  const { status, error, stdout, stderr } = spawnSync('systemd-creds', ['decrypt', `--name=${name}`, file, '-'], {
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LANG: 'C.UTF-8' },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: timeoutMs,
    maxBuffer: maxBytes,
  });
  if (status === 0) return stdout;
  const reason = error?.message ?? stderr.toString('utf8').trim();
  throw new ConfigError(`${reference}: systemd-creds cannot decrypt ${file}: ${reason}`);
}
