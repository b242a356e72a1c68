import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject } from 'vitest';
import { loadTokenConfig } from '../../src/config/config.ts';
import type { TokenConfig } from '../../src/config/token-config.ts';
import { compileCache } from './compile-cache.ts';

export interface ScratchToken {
  readonly directory: string;
  readonly configPath: string;
  readonly config: TokenConfig;
  readonly environment: { readonly SOFTHSM2_CONF: string };
  readonly pin: string;
  remove(): void;
}

/** A SoftHSM token of its own: a copy of one template a run, so that no test sees another's keys. */
export function scratchToken(settings: Record<string, string | number | boolean> = {}): ScratchToken {
  const directory = mkdtempSync(join(tmpdir(), 'signetd-token-'));
  cpSync(inject('templateToken'), directory, { recursive: true });
  const softhsmConfig = join(directory, 'softhsm2.conf');
  writeFileSync(
    softhsmConfig,
    readFileSync(softhsmConfig, 'utf8').replace(/^directories\.tokendir.*$/m, `directories.tokendir = ${directory}/tokens`),
  );
  const configPath = join(directory, 'token.yaml');
  const token = {
    label: 'test',
    pin: `file:${directory}/pin`,
    // Each thread adds 0.2 seconds of processor time to the start of a host. Tests in which two threads of the host matter ask for them.
    threads: 1,
    host: 'spawn',
    socketPath: join(directory, 'token.sock'),
    environment: { SOFTHSM2_CONF: softhsmConfig, ...compileCache() },
    ...settings,
  };
  writeFileSync(configPath, JSON.stringify({ token }));
  return {
    directory,
    configPath,
    config: loadTokenConfig(configPath),
    environment: { SOFTHSM2_CONF: softhsmConfig },
    pin: readFileSync(join(directory, 'pin'), 'utf8').trim(),
    remove: () => {
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
