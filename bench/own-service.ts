import { execFileSync, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { nodeFlags } from '../src/service/node-flags.ts';
import { projectRoot, readQuickstart, type Quickstart } from './quickstart-description.ts';

const startMaxMs = 60_000;
const pollMs = 10;

/**
 * First level of a configuration file; deeper levels stay unchanged unless the bench changes them.
 */
const Configuration = z.looseObject({
  limits: z.record(z.string(), z.number()),
  audit: z.looseObject({}),
  tenants: z.record(z.string(), z.looseObject({ profile: z.looseObject({}) })),
});
export type Configuration = z.output<typeof Configuration>;

/** Starts a separate quickstart in a directory, with changes to its configuration. */
export function startOwnService(directory: string, change?: (configuration: Configuration) => Configuration): Quickstart {
  quickstart(directory, 'quickstart');
  if (change !== undefined) {
    quickstart(directory, 'stop');
    configure(directory, change);
    startAgain(directory);
  }
  const description = readQuickstart(directory);
  if (description === undefined) throw new Error('the quickstart wrote no description');
  return description;
}

/** Changes the configuration of a service that is stopped. */
export function configure(directory: string, change: (configuration: Configuration) => Configuration): void {
  const file = join(directory, 'signetd.yaml');
  writeFileSync(file, stringify(change(Configuration.parse(parse(readFileSync(file, 'utf8'))))));
}

export function stopOwnService(directory: string): void {
  quickstart(directory, 'stop');
}

/** Starts a stopped service. Retries, since another program may have taken the ports for a moment. */
function startAgain(directory: string, attempts = 5): void {
  try {
    quickstart(directory, 'quickstart');
  } catch (error) {
    if (attempts === 1) throw error;
    startAgain(directory, attempts - 1);
  }
}

/**
 * Starts a stopped service without the quickstart's program. Returns the time from its first process
 * until it is ready, in milliseconds.
 */
export async function timedStart(directory: string): Promise<number> {
  const description = readQuickstart(directory);
  if (description === undefined) throw new Error('the service has no description');
  const begin = performance.now();
  const child = spawn(process.execPath, [...nodeFlags, join(projectRoot, 'dist', 'main.js'), '--config', join(directory, 'signetd.yaml')], {
    cwd: directory,
    detached: true,
    stdio: 'ignore',
  });
  child.unref();
  writeFileSync(join(directory, 'daemon.pid'), `${child.pid}\n`);
  while (!(await isReady(description.opsUrl))) {
    if (child.exitCode !== null || performance.now() - begin > startMaxMs) throw new Error('the service does not start');
    await delay(pollMs);
  }
  return performance.now() - begin;
}

async function isReady(opsUrl: string): Promise<boolean> {
  try {
    return (await fetch(`${opsUrl}/health/ready`)).status === 200;
  } catch {
    return false;
  }
}

function quickstart(directory: string, program: 'quickstart' | 'stop'): void {
  execFileSync(process.execPath, ['--disable-sigusr1', join(projectRoot, 'dist', 'quickstart', `${program}.js`)], {
    env: { ...process.env, SIGNETD_QUICKSTART_DIRECTORY: directory },
    stdio: 'ignore',
  });
}
