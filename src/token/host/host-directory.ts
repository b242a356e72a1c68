import { existsSync, lstatSync, mkdirSync, realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { ConfigError } from '../../config/config.ts';
import { accountDirectoryOf, type TokenConfig } from '../../config/token-config.ts';
import { DirectoryLock } from '../../service/directory-lock.ts';
import { prepareWrongSecrets, type WrongSecretLimit } from './wrong-secrets.ts';

export function wrongSecretLimit({ wrongSecretsMax, wrongSecretSeconds }: TokenConfig): WrongSecretLimit {
  return { atOnce: wrongSecretsMax, intervalMs: wrongSecretSeconds * 1000 };
}

/**
 * Makes the directory of what the host itself remembers ready, before its threads use it. This host alone has it from then on, as long as the process lives.
 * @throws {Error} where it cannot be written, or another host has it; {ConfigError} where root must not write
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
    throw new Error(`token.accountDirectory: ${directory} cannot be used: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

/**
 * Checks that nobody else can place a link where root will write, and that root leaves no files that
 * would keep another user's host out.
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
    const whose = uid === 0 ? 'may be written by other users' : `belongs to user ${uid}`;
    throw new ConfigError(
      `token.accountDirectory: ${path} ${whose}: the token host does not run as root there; run it as the owner of ${directory}`,
    );
  }
}

/** A path and all that it lies in. */
function pathsTo(path: string): string[] {
  return path === dirname(path) ? [path] : [path, ...pathsTo(dirname(path))];
}
