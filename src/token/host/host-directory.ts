import { mkdirSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { accountDirectoryOf, type TokenConfig } from '../../config/token-config.ts';
import { DirectoryLock } from '../../service/directory-lock.ts';
import { giveToOwnerOf } from './use-account.ts';
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
    const made = mkdirSync(directory, { recursive: true, mode: 0o700 });
    if (made !== undefined) giveToOwnerOf(dirname(directory), directory);
    const lock = new DirectoryLock(directory, 'the account of uses');
    prepareWrongSecrets(directory, wrongSecretLimit(config));
    for (const name of readdirSync(directory)) giveToOwnerOf(directory, join(directory, name));
    return lock;
  } catch (error) {
    throw new Error(`token.accountDirectory: ${directory} cannot be used: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}
