import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { loadTokenConfig } from '../../src/config/config.ts';
import { TokenClient } from '../../src/token/client/token-client.ts';
import { quickstartEnvironment } from './quickstart-environment.ts';
import { recordingLog } from './silent-log.ts';
import { finishCollecting, startCollecting } from './suite-logs.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Directory of the quickstart that the whole run shares. */
    quickstartDirectory: string;
    /** A SoftHSM token to be copied: initialised, with the key for secrets, as one is that a service has started with, and with nothing else. */
    templateToken: string;
  }
}

const environment = quickstartEnvironment();
const templateToken = mkdtempSync(join(tmpdir(), 'signetd-template-token-'));
const compileCache = mkdtempSync(join(tmpdir(), 'signetd-compile-cache-'));

/** One running service for all test files that speak HTTP. */
export async function setup(project: TestProject): Promise<void> {
  startCollecting();
  // The suite starts the service a thousand times: what was compiled once need not be again.
  process.env['NODE_COMPILE_CACHE'] = compileCache;
  const pin = join(templateToken, 'pin');
  writeFileSync(pin, '123456\n', { mode: 0o600 });
  execFileSync('sh', ['softhsm/make-token.sh', templateToken, 'test', pin]);
  await makeMacKey(pin);
  project.provide('templateToken', templateToken);
  environment.start();
  sayMore(environment.directory);
  project.provide('quickstartDirectory', environment.directory);
}

export function teardown(): void {
  environment.remove();
  rmSync(templateToken, { recursive: true, force: true });
  rmSync(compileCache, { recursive: true, force: true });
  finishCollecting();
}

async function makeMacKey(pin: string): Promise<void> {
  const configPath = join(templateToken, 'template.yaml');
  const variables = { SOFTHSM2_CONF: join(templateToken, 'softhsm2.conf') };
  const token = {
    label: 'test',
    pin: `file:${pin}`,
    threads: 1,
    host: 'spawn',
    socketPath: join(templateToken, 'token.sock'),
    environment: variables,
  };
  writeFileSync(configPath, JSON.stringify({ token }));
  const client = new TokenClient(loadTokenConfig(configPath), configPath, recordingLog());
  try {
    await client.start();
    await client.macKey.make();
  } finally {
    await client.stop();
  }
  // A copy has its own.
  for (const name of readdirSync(templateToken)) if (name.startsWith('token.sock')) rmSync(join(templateToken, name), { recursive: true });
}

/** The log of the suite says all that a log can say. */
function sayMore(directory: string): void {
  const { configFile } = environment.description();
  writeFileSync(configFile, readFileSync(configFile, 'utf8').replace('level: info', 'level: debug'));
  process.kill(Number(readFileSync(join(directory, 'daemon.pid'), 'utf8')), 'SIGHUP');
}
