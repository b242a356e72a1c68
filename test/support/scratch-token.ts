import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadTokenConfig, type TokenConfig } from '../../src/config/config.ts';

export interface ScratchToken {
  readonly directory: string;
  readonly configPath: string;
  readonly config: TokenConfig;
  readonly environment: { readonly SOFTHSM2_CONF: string };
  readonly pin: string;
  remove(): void;
}

const template = join(tmpdir(), `signetd-template-token-${process.ppid}`);

/** A SoftHSM token of its own: a copy of one template a run, so that no test sees another's keys. */
export function scratchToken(settings: Record<string, string | number> = {}): ScratchToken {
  if (!existsSync(template)) makeTemplate();
  const directory = mkdtempSync(join(tmpdir(), 'signetd-token-'));
  cpSync(template, directory, { recursive: true });
  const softhsmConfig = join(directory, 'softhsm2.conf');
  writeFileSync(
    softhsmConfig,
    readFileSync(softhsmConfig, 'utf8').replace(/^directories\.tokendir.*$/m, `directories.tokendir = ${directory}/tokens`),
  );
  const configPath = join(directory, 'token.yaml');
  const token = {
    label: 'test',
    pin: `file:${directory}/pin`,
    threads: 2,
    host: 'spawn',
    socketPath: join(directory, 'token.sock'),
    environment: { SOFTHSM2_CONF: softhsmConfig },
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

function makeTemplate(): void {
  const made = mkdtempSync(join(tmpdir(), 'signetd-template-'));
  mkdirSync(made, { recursive: true });
  writeFileSync(join(made, 'pin'), '123456\n', { mode: 0o600 });
  execFileSync('sh', ['softhsm/make-token.sh', made, 'test', join(made, 'pin')]);
  try {
    renameSync(made, template);
  } catch {
    // Another test file was faster.
    rmSync(made, { recursive: true, force: true });
  }
}
