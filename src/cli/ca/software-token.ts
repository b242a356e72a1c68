import { existsSync, readFileSync } from 'node:fs';
import type { TokenConfig } from '../../config/token-config.ts';
import { giveRootMadeFiles } from '../../service/root-made-files.ts';

/**
 * Gives the files that root has made in a SoftHSM token to the owner of its directory, so that the
 * token host can read them. An HSM has no such files.
 */
export function giveSoftwareTokenToItsOwner({ environment }: TokenConfig): void {
  const settings = environment['SOFTHSM2_CONF'] ?? process.env['SOFTHSM2_CONF'];
  if (process.geteuid?.() !== 0 || settings === undefined || !existsSync(settings)) return;
  const [, directory] = /^\s*directories\.tokendir\s*=\s*(\S.*?)\s*$/m.exec(readFileSync(settings, 'utf8')) ?? [];
  if (directory !== undefined) giveRootMadeFiles(directory);
}
