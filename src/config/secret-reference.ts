import { closeSync, readSync, type Stats } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { ConfigError } from './config-error.ts';
import { decryptedCredential } from './encrypted-credential.ts';
import { FileFault, isOwn, openSecretFile, type OpenedFile } from './secret-file.ts';

/** Reference to a secret; the configuration never contains the secret itself. */
export const SecretReference = z.string().regex(/^(file|credential):.+$/, 'not of the form file:<path> or credential:<name>');

/** Makes the path of a `file:` reference absolute. */
export function absoluteReference(reference: string, base: string): string {
  return reference.startsWith('file:') ? `file:${resolve(base, reference.slice('file:'.length))}` : reference;
}

/**
 * Directory of the daemon's systemd credentials, for access from outside its unit, as in `signetctl
 * config check`.
 */
export const daemonsCredentials = '/run/credentials/signetd.service';

/** PINs, keys and passwords are short; anything longer is the wrong file. */
const maxSecretBytes = 16 * 1024;

/**
 * Reads the secret at `file:<path>` or `credential:<name>`, without a trailing newline. A file must
 * belong to the process's user or root, and nobody else may read it, except a group that this
 * process is in; for credentials, systemd ($CREDENTIALS_DIRECTORY) ensures that. Both must be
 * regular files. The path of a file may have symbolic links that nobody else could have made
 * (`openSecretFile`), as the volumes of Kubernetes have; that of a credential has none.
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
    return readCredential(reference, join(directory, target));
  }
  return readRegularFile(reference, target, owner);
}

/**
 * Reads a private key by its path, with the same care. It may also be a credential, by its path in
 * the directory of the credentials of a unit. Root's programs read the files of the service.
 * @throws {ConfigError}
 */
export function readKeyFile(path: string): Buffer {
  const ofUnit = [process.env['CREDENTIALS_DIRECTORY'], daemonsCredentials].includes(dirname(path));
  return ofUnit ? readCredential(path, path) : readRegularFile(path, path, process.geteuid?.() === 0 ? 'anyone' : 'self');
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

function readCredential(reference: string, path: string): Buffer {
  return readOpened(reference, path, ({ isLinked }) => (isLinked ? 'is reached through a symbolic link' : undefined));
}

function readRegularFile(reference: string, path: string, owner: 'self' | 'anyone'): Buffer {
  return readOpened(
    reference,
    resolve(path),
    ({ stats, isLinked }) => (owner === 'self' || isLinked ? ownerFault(stats) : undefined) ?? modeFault(stats),
  );
}

/** Opens the file before checking it, so that the checked file is the one that is read. */
function readOpened(reference: string, path: string, faultOf: (opened: OpenedFile) => string | undefined): Buffer {
  const opened = openFile(reference, path);
  try {
    const fault = faultOf(opened);
    if (fault !== undefined) throw new ConfigError(`${reference}: ${fault}`);
    // Not in the heap, where the collector may copy it, and not copied for another thread.
    const bytes = Buffer.from(new SharedArrayBuffer(maxSecretBytes + 1));
    const length = readSync(opened.descriptor, bytes, 0, bytes.length, 0);
    if (length > maxSecretBytes) throw new ConfigError(`${reference}: too long for a secret (more than ${maxSecretBytes} bytes)`);
    const secret = withoutNewline(bytes.subarray(0, length));
    if (secret.length === 0) throw new ConfigError(`${reference}: the file is empty`);
    return secret;
  } finally {
    closeSync(opened.descriptor);
  }
}

function withoutNewline(bytes: Buffer): Buffer {
  if (bytes.at(-1) !== 0x0a) return bytes;
  return bytes.subarray(0, bytes.at(-2) === 0x0d ? -2 : -1);
}

function openFile(reference: string, path: string): OpenedFile {
  try {
    return openSecretFile(path);
  } catch (error) {
    if (error instanceof FileFault) throw new ConfigError(`${reference}: ${error.message}`);
    throw error;
  }
}

function ownerFault({ uid }: Stats): string | undefined {
  if (isOwn(uid)) return undefined;
  return `the file belongs to user ${uid}, who could change it; it must belong to this process's user or root`;
}

/** A group may only read it, and only one that this process is in, such as the `fsGroup` of a pod. */
function modeFault({ mode, gid }: Stats): string | undefined {
  if ((mode & 0o037) !== 0) return 'others may read this file; chmod 0600 it';
  if ((mode & 0o040) === 0 || gid === process.getegid?.() || process.getgroups?.().includes(gid) === true) return undefined;
  return `group ${gid} may read this file, and this process is not in that group; chmod 0600 it`;
}
