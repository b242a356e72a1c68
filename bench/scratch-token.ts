import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface ScratchToken {
  readonly module: string;
  readonly pinFile: string;
  readonly label: string;
  readonly environment: { readonly SOFTHSM2_CONF: string };
}

const modulePaths = [
  '/usr/lib/softhsm/libsofthsm2.so',
  '/usr/lib/x86_64-linux-gnu/softhsm/libsofthsm2.so',
  '/usr/lib/aarch64-linux-gnu/softhsm/libsofthsm2.so',
  '/usr/lib64/pkcs11/libsofthsm2.so',
];

/**
 * Makes a SoftHSM token for this run, below a directory that the caller removes; undefined if
 * SoftHSM is not installed.
 */
export function createScratchToken(directory: string): ScratchToken | undefined {
  const module = modulePaths.find((path) => existsSync(path));
  if (module === undefined) return undefined;
  const tokens = join(directory, 'tokens');
  const configFile = join(directory, 'softhsm2.conf');
  const pinFile = join(directory, 'pin');
  const pin = '1234';
  const label = 'bench';
  mkdirSync(tokens, { mode: 0o700 });
  writeFileSync(configFile, `directories.tokendir = ${tokens}\nobjectstore.backend = file\nlog.level = ERROR\n`);
  writeFileSync(pinFile, `${pin}\n`, { mode: 0o600 });
  const environment = { SOFTHSM2_CONF: configFile };
  try {
    execFileSync('softhsm2-util', ['--init-token', '--free', '--label', label, '--so-pin', '12345678', '--pin', pin], {
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
  return { module, pinFile, label, environment };
}
