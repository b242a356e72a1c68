import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError } from './config.ts';

/**
 * Reads what `file:<path>` or `credential:<name>` points to, without the newline at its end.
 * A file must be readable by its owner alone; credentials come from systemd ($CREDENTIALS_DIRECTORY), which sees to that itself.
 * @throws {ConfigError}
 */
export function readSecret(reference: string): string {
  const colon = reference.indexOf(':');
  const target = reference.slice(colon + 1);
  if (reference.startsWith('credential:')) {
    const directory = process.env['CREDENTIALS_DIRECTORY'];
    if (directory === undefined) throw new ConfigError(`${reference}: systemd has set no CREDENTIALS_DIRECTORY`);
    if (target.includes('/')) throw new ConfigError(`${reference}: a credential's name has no slash`);
    return readFileSync(join(directory, target), 'utf8').replace(/\r?\n$/, '');
  }
  if ((statSync(target).mode & 0o077) !== 0) throw new ConfigError(`${reference}: others may read this file; chmod 0600 it`);
  return readFileSync(target, 'utf8').replace(/\r?\n$/, '');
}
