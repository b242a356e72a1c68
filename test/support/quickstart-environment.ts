import { execFileSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Description } from '../../src/quickstart/configuration.ts';
import { collectLog } from './suite-logs.ts';

export interface QuickstartEnvironment {
  readonly directory: string;
  /** Runs the quickstart (again) and answers what it printed. */
  start(): string;
  stop(): string;
  description(): Description;
  remove(): void;
}

/** A quickstart of its own in a temporary directory, made by the very program that users run. */
export function quickstartEnvironment(): QuickstartEnvironment {
  const directory = mkdtempSync(join(tmpdir(), 'signetd-quickstart-'));
  // Far from those of others: while it is stopped, nobody else takes its ports. Below those that the kernel gives to outgoing connections.
  const port = String(10 * randomInt(1000, 2000));
  const run = (script: string): string =>
    execFileSync(process.execPath, [`dist/quickstart/${script}.js`], {
      env: { ...process.env, SIGNETD_QUICKSTART_DIRECTORY: directory, SIGNETD_QUICKSTART_PORT: port },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  return {
    directory,
    start: () => run('quickstart'),
    stop: () => run('stop'),
    description: () => JSON.parse(readFileSync(join(directory, 'quickstart.json'), 'utf8')) as Description,
    remove: () => {
      run('stop');
      collectLog(join(directory, 'daemon.log'));
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
