import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { ConfigError } from './config-error.ts';
import { decryptedCredential } from './encrypted-credential.ts';
import { reasonOf } from '../telemetry/reason-of.ts';
import { errorCode } from '../telemetry/error-code.ts';

/** Reference to a secret; the configuration never contains the secret itself. */
export const SecretReference = z.string().regex(/^(file|credential):.+$/, 'not of the form file:<path> or credential:<name>');

/** Makes the path of a `file:` reference absolute. */
export function absoluteReference(reference: string, base: string): string {
  return reference.startsWith('file:') ? `file:${resolve(base, reference.slice('file:'.length))}` : reference;
}

/** PINs, keys and passwords are short; anything longer is the wrong file. */
const maxSecretBytes = 16 * 1024;

/**
 * Reads the secret at `file:<path>` or `credential:<name>`, without a trailing newline. A file must
 * belong to the process's user or root and be readable by its owner only; for credentials, systemd
 * ($CREDENTIALS_DIRECTORY) ensures that. Both must be regular files, and the last part of the path
 * not a symbolic link.
 * @param owner `anyone`: for root running an operator's program on files of the service. Outside a
 *   unit, it also gets credentials, decrypted from systemd's credential store
 * @throws {ConfigError}
 */
export function readSecret(reference: string, owner: 'self' | 'anyone' = 'self'): string {
  const bytes = readSecretBytes(reference, owner);
  const secret = bytes.toString('utf8');
  bytes.fill(0);
  return secret;
}

/**
 * Does the same in bytes, which the caller can wipe after use, unlike a string. They are the only
 * copy in the process, in shared memory, so that passing them to a thread makes no copy.
 * @throws {ConfigError}
 */
export function readSecretBytes(reference: string, owner: 'self' | 'anyone' = 'self'): Buffer {
  const colon = reference.indexOf(':');
  const target = reference.slice(colon + 1);
  if (reference.startsWith('credential:')) {
    if (target.includes('/')) throw new ConfigError(`${reference}: the name of a credential must not contain a slash`);
    const directory = process.env['CREDENTIALS_DIRECTORY'];
    if (directory === undefined) {
      if (owner === 'anyone' && process.geteuid?.() === 0) return decrypted(reference, target);
      throw new ConfigError(`${reference}: CREDENTIALS_DIRECTORY is not set (by systemd)`);
    }
    return readRegularFile(reference, join(directory, target), () => undefined);
  }
  return readRegularFile(reference, target, (stats) => (owner === 'self' ? ownerFault(stats) : undefined) ?? modeFault(stats));
}

/** Decrypts what systemd would pass to the unit, for root's signetctl, which is no unit. */
function decrypted(reference: string, name: string): Buffer {
  const bytes = decryptedCredential(reference, name);
  if (bytes.length > maxSecretBytes) throw new ConfigError(`${reference}: too long for a secret (more than ${maxSecretBytes} bytes)`);
  const secret = Buffer.from(new SharedArrayBuffer(bytes.length));
  bytes.copy(secret);
  bytes.fill(0);
  if (withoutNewline(secret).length === 0) throw new ConfigError(`${reference}: the credential is empty`);
  return withoutNewline(secret);
}

/** Opens the file before checking it, so that the checked file is the one that is read. */
function readRegularFile(reference: string, path: string, faultOf: (stats: Stats) => string | undefined): Buffer {
  const descriptor = openFile(reference, path);
  try {
    const stats = fstatSync(descriptor);
    const fault = stats.isFile() ? faultOf(stats) : 'not a regular file';
    if (fault !== undefined) throw new ConfigError(`${reference}: ${fault}`);
    // Not in the heap, where the collector may copy it, and not copied for another thread.
    const bytes = Buffer.from(new SharedArrayBuffer(maxSecretBytes + 1));
    const length = readSync(descriptor, bytes, 0, bytes.length, 0);
    if (length > maxSecretBytes) throw new ConfigError(`${reference}: too long for a secret (more than ${maxSecretBytes} bytes)`);
    const secret = withoutNewline(bytes.subarray(0, length));
    if (secret.length === 0) throw new ConfigError(`${reference}: the file is empty`);
    return secret;
  } finally {
    closeSync(descriptor);
  }
}

function withoutNewline(bytes: Buffer): Buffer {
  if (bytes.at(-1) !== 0x0a) return bytes;
  return bytes.subarray(0, bytes.at(-2) === 0x0d ? -2 : -1);
}

function openFile(reference: string, path: string): number {
  try {
    // Without O_NONBLOCK, opening a named pipe would block.
    return openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    const code = errorCode(error);
    if (code === 'ELOOP') throw new ConfigError(`${reference}: is a symbolic link; name the file itself`);
    if (code === 'ENOENT') throw new ConfigError(`${reference}: there is no such file`);
    throw new ConfigError(`${reference}: ${reasonOf(error)}`);
  }
}

function ownerFault({ uid }: Stats): string | undefined {
  if (uid === 0 || uid === process.geteuid?.()) return undefined;
  return `the file belongs to user ${uid}, who could change it; it must belong to this process's user or root`;
}

function modeFault({ mode }: Stats): string | undefined {
  return (mode & 0o077) === 0 ? undefined : 'others may read this file; chmod 0600 it';
}
