import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import { ConfigError } from './config.ts';

/** PINs, keys and passwords are short; anything longer is another file than was meant. */
const maxSecretBytes = 16 * 1024;

/**
 * Reads what `file:<path>` or `credential:<name>` points to, without the newline at its end.
 * A file must belong to the process's user or root and be readable by its owner alone; credentials come from systemd ($CREDENTIALS_DIRECTORY),
 * which sees to that itself. Both are regular files, reached by no symbolic link as the last part of their path.
 * @param owner `anyone`: for root, who runs an operator's program on files of the service
 * @throws {ConfigError}
 */
export function readSecret(reference: string, owner: 'self' | 'anyone' = 'self'): string {
  const bytes = readSecretBytes(reference, owner);
  const secret = bytes.toString('utf8');
  bytes.fill(0);
  return secret;
}

/**
 * The same in bytes, for who wipes them after their use, as no string can be. They are the only copy in the process, in memory that threads share when it is
 * sent between them. @throws {ConfigError}
 */
export function readSecretBytes(reference: string, owner: 'self' | 'anyone' = 'self'): Buffer {
  const colon = reference.indexOf(':');
  const target = reference.slice(colon + 1);
  if (reference.startsWith('credential:')) {
    const directory = process.env['CREDENTIALS_DIRECTORY'];
    if (directory === undefined) throw new ConfigError(`${reference}: systemd has set no CREDENTIALS_DIRECTORY`);
    if (target.includes('/')) throw new ConfigError(`${reference}: a credential's name has no slash`);
    return readRegularFile(reference, join(directory, target), () => undefined);
  }
  return readRegularFile(reference, target, (stats) => (owner === 'self' ? ownerFault(stats) : undefined) ?? modeFault(stats));
}

/** What is judged is the file that is read: it is opened first, and nobody can put another in its place between. */
function readRegularFile(reference: string, path: string, faultOf: (stats: Stats) => string | undefined): Buffer {
  const descriptor = openFile(reference, path);
  try {
    const stats = fstatSync(descriptor);
    const fault = stats.isFile() ? faultOf(stats) : 'this is no regular file';
    if (fault !== undefined) throw new ConfigError(`${reference}: ${fault}`);
    // Neither in the heap, whose contents are moved, nor copied for another thread.
    const bytes = Buffer.from(new SharedArrayBuffer(maxSecretBytes + 1));
    const length = readSync(descriptor, bytes, 0, bytes.length, 0);
    if (length > maxSecretBytes) throw new ConfigError(`${reference}: longer than ${maxSecretBytes} bytes, which no secret is`);
    const secret = withoutNewline(bytes.subarray(0, length));
    if (secret.length === 0) throw new ConfigError(`${reference}: this file is empty`);
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
    // A named pipe would be waited for without O_NONBLOCK.
    return openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ELOOP') throw new ConfigError(`${reference}: this is a symbolic link; name the file itself`);
    if (code === 'ENOENT') throw new ConfigError(`${reference}: there is no such file`);
    throw new ConfigError(`${reference}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function ownerFault({ uid }: Stats): string | undefined {
  if (uid === 0 || uid === process.geteuid?.()) return undefined;
  return `this file belongs to user ${uid}, who could change it; it must belong to this process's user or root`;
}

function modeFault({ mode }: Stats): string | undefined {
  return (mode & 0o077) === 0 ? undefined : 'others may read this file; chmod 0600 it';
}
