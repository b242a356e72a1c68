import { existsSync, lchownSync, lstatSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { TokenConfig } from '../../config/token-config.ts';

/**
 * Gives the files that root has made in a SoftHSM token to the owner of its directory, so that the
 * token host can read them. An HSM has no such files.
 */
export function giveSoftwareTokenToItsOwner({ environment }: TokenConfig): void {
  const settings = environment['SOFTHSM2_CONF'] ?? process.env['SOFTHSM2_CONF'];
  if (process.geteuid?.() !== 0 || settings === undefined || !existsSync(settings)) return;
  const [, directory] = /^\s*directories\.tokendir\s*=\s*(\S.*?)\s*$/m.exec(readFileSync(settings, 'utf8')) ?? [];
  if (directory === undefined || !existsSync(directory)) return;
  const { uid, gid } = statSync(directory);
  if (uid === 0) return;
  for (const name of readdirSync(directory, { recursive: true, encoding: 'utf8' })) {
    const path = join(directory, name);
    // The token host may remove one meanwhile.
    if (lstatSync(path, { throwIfNoEntry: false })?.uid === 0) lchownSync(path, uid, gid);
  }
}
