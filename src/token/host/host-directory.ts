import { mkdirSync, statSync } from 'node:fs';
import { accountDirectoryOf, type TokenConfig } from '../../config/token-config.ts';
import { DirectoryLock } from '../../service/directory-lock.ts';
import { prepareWrongSecrets, type WrongSecretLimit } from './wrong-secrets.ts';

export function wrongSecretLimit({ wrongSecretsMax, wrongSecretSeconds }: TokenConfig): WrongSecretLimit {
  return { atOnce: wrongSecretsMax, intervalMs: wrongSecretSeconds * 1000 };
}

/**
 * Makes the directory of what the host itself remembers ready, before its threads use it. This host alone has it from then on, as long as the process lives.
 * @throws {Error} where it cannot be written, or another host has it
 */
export function takeHostDirectory(config: TokenConfig): DirectoryLock {
  const directory = accountDirectoryOf(config);
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    // One that the daemon starts is for development, as whoever starts it.
    if (config.host === 'external') checkOwner(directory);
    const lock = new DirectoryLock(directory, 'the account of uses');
    prepareWrongSecrets(directory, wrongSecretLimit(config));
    return lock;
  } catch (error) {
    throw new Error(`token.accountDirectory: ${directory} cannot be used: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

/** Whose directory it is could have root follow links in it, and could not use what root leaves there. @throws {Error} */
function checkOwner(directory: string): void {
  const { uid } = statSync(directory);
  if (process.getuid?.() === 0 && uid !== 0) throw new Error(`it belongs to user ${uid}: run the token host as that user, not as root`);
}
