import { existsSync, lstatSync, mkdirSync, realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { ConfigError } from '../../config/config-error.ts';
import { accountDirectoryOf, type TokenConfig } from '../../config/token-config.ts';
import { DirectoryLock } from '../../service/directory-lock.ts';
import { reasonOf } from '../../telemetry/reason-of.ts';
import { prepareWrongSecrets, type WrongSecretLimit } from './wrong-secrets.ts';

export function wrongSecretLimit({ wrongSecretsMax, wrongSecretSeconds }: TokenConfig): WrongSecretLimit {
  return { atOnce: wrongSecretsMax, intervalMs: wrongSecretSeconds * 1000 };
}

/**
 * Prepares and locks the directory of the host's own state, before its threads use it. The lock is
 * held as long as the process lives.
 * @throws {Error} if it cannot be written or another host holds it
 * @throws {ConfigError} if root must not write there
 */
export function takeHostDirectory(config: TokenConfig): DirectoryLock {
  const directory = accountDirectoryOf(config);
  // A host that the daemon starts runs as the same user, for development.
  if (config.host === 'external' && process.getuid?.() === 0) checkIsRoots(directory);
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const lock = new DirectoryLock(directory, 'the account of uses');
    prepareWrongSecrets(directory, wrongSecretLimit(config));
    return lock;
  } catch (error) {
    throw new Error(`token.accountDirectory: ${directory} cannot be used: ${reasonOf(error)}`, {
      cause: error,
    });
  }
}

/**
 * Checks that no other user can place a link where root will write, and that root leaves no files
 * that another user's host could not open.
 * @throws {ConfigError} if another user owns or can write the directory or one above it
 */
function checkIsRoots(directory: string): void {
  let existing = directory;
  while (!existsSync(existing)) existing = dirname(existing);
  for (const path of new Set([...pathsTo(existing), ...pathsTo(realpathSync(existing))])) {
    const { mode } = statSync(path);
    const isShared = (mode & 0o022) !== 0 && (mode & 0o1000) === 0;
    const { uid } = lstatSync(path);
    if (uid === 0 && !isShared) continue;
    const whose = uid === 0 ? 'is writable by other users' : `belongs to user ${uid}`;
    throw new ConfigError(
      `token.accountDirectory: ${path} ${whose}: the token host does not run as root there; run it as the owner of ${directory}`,
    );
  }
}

/** A path and all directories above it. */
function pathsTo(path: string): string[] {
  return path === dirname(path) ? [path] : [path, ...pathsTo(dirname(path))];
}
