import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadTokenConfig } from '../../src/config/config.ts';
import type { TokenConfig } from '../../src/config/token-config.ts';
import { compileCache } from './compile-cache.ts';

/** The module of Kryoptic, as `kryoptic.sh` builds it. */
export const kryopticModule = join(
  process.env.SIGNETD_TOOLS_CACHE ?? join(homedir(), '.cache/signetd-tools'),
  'kryoptic-1.5.4/libkryoptic.so',
);

/** Why a test of a second make of token cannot run. */
export const noSecondToken = existsSync(kryopticModule) ? undefined : 'no Kryoptic; build it with test/support/kryoptic.sh';

/** A token of another make than SoftHSM. Its PIN is in the file `pin` of the directory. */
export interface SecondToken {
  readonly directory: string;
  readonly label: string;
  readonly pin: string;
  /** What a configuration's section `token` needs to find it: `modulePath`, `label`, `pin` and `environment`. */
  readonly settings: {
    readonly modulePath: string;
    readonly label: string;
    readonly pin: string;
    readonly environment: { readonly KRYOPTIC_CONF: string };
  };
  /** Writes a configuration with a host of its own to the directory, and reads it. */
  configure(settings?: Record<string, string | number | boolean>): { readonly configPath: string; readonly config: TokenConfig };
  remove(): void;
}

/** An empty token of Kryoptic in a directory of its own. */
export function secondToken({ label = 'test', pin = '123456' } = {}): SecondToken {
  const directory = mkdtempSync(join(tmpdir(), 'signetd-second-token-'));
  const environment = { KRYOPTIC_CONF: join(directory, 'kryoptic.conf') };
  writeFileSync(environment.KRYOPTIC_CONF, `[[slots]]\nslot = 1\ndbtype = "sqlite"\ndbargs = "${directory}/token.sql"\n`);
  writeFileSync(join(directory, 'pin'), `${pin}\n`, { mode: 0o600 });
  const officerPin = '87654321';
  const tool = (...given: string[]): void => {
    execFileSync('pkcs11-tool', ['--module', kryopticModule, ...given], { env: { ...process.env, ...environment }, stdio: 'pipe' });
  };
  tool('--init-token', '--label', label, '--so-pin', officerPin);
  tool('--init-pin', '--login', '--login-type', 'so', '--so-pin', officerPin, '--pin', pin);
  const settings = { modulePath: kryopticModule, label, pin: `file:${directory}/pin`, environment };
  return {
    directory,
    label,
    pin,
    settings,
    configure: (further = {}) => {
      const configPath = join(directory, 'token.yaml');
      const token = {
        ...settings,
        threads: 1,
        host: 'spawn',
        socketPath: join(directory, 'token.sock'),
        environment: { ...environment, ...compileCache() },
        ...further,
      };
      writeFileSync(configPath, JSON.stringify({ token }));
      return { configPath, config: loadTokenConfig(configPath) };
    },
    remove: () => {
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
