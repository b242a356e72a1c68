import { join, resolve } from 'node:path';

const prefix = 'credential:';
/** Where systemd puts the daemon's credentials: for a look from outside its unit, as `signetctl config check` takes. */
const daemonsCredentials = '/run/credentials/signetd.service';

/** The path of a file that `credential:<name>` (systemd's $CREDENTIALS_DIRECTORY) or a path, relative to `base`, names. */
export function fileOrCredential(base: string, reference: string): string {
  if (!reference.startsWith(prefix)) return resolve(base, reference);
  return join(process.env['CREDENTIALS_DIRECTORY'] ?? daemonsCredentials, reference.slice(prefix.length));
}
