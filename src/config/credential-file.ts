import { join, resolve } from 'node:path';

const prefix = 'credential:';
/**
 * Directory of the daemon's systemd credentials, for access from outside its unit, as in `signetctl
 * config check`.
 */
const daemonsCredentials = '/run/credentials/signetd.service';

/**
 * Returns the path of a file given as `credential:<name>` (in systemd's $CREDENTIALS_DIRECTORY) or
 * as a path relative to `base`.
 */
export function fileOrCredential(base: string, reference: string): string {
  if (!reference.startsWith(prefix)) return resolve(base, reference);
  return join(process.env['CREDENTIALS_DIRECTORY'] ?? daemonsCredentials, reference.slice(prefix.length));
}
