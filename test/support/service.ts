import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { quickstartEnvironment } from './quickstart-environment.ts';
import { finishCollecting, startCollecting } from './suite-logs.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Directory of the quickstart that the whole run shares. */
    quickstartDirectory: string;
    /** A SoftHSM token, initialised and empty, to be copied. */
    templateToken: string;
  }
}

const environment = quickstartEnvironment();
const templateToken = mkdtempSync(join(tmpdir(), 'signetd-template-token-'));

/** One running service for all test files that speak HTTP. */
export function setup(project: TestProject): void {
  startCollecting();
  const pin = join(templateToken, 'pin');
  writeFileSync(pin, '123456\n', { mode: 0o600 });
  execFileSync('sh', ['softhsm/make-token.sh', templateToken, 'test', pin]);
  project.provide('templateToken', templateToken);
  environment.start();
  sayMore(environment.directory);
  project.provide('quickstartDirectory', environment.directory);
}

export function teardown(): void {
  environment.remove();
  rmSync(templateToken, { recursive: true, force: true });
  finishCollecting();
}

/** The log of the suite says all that a log can say. */
function sayMore(directory: string): void {
  const { configFile } = environment.description();
  writeFileSync(configFile, readFileSync(configFile, 'utf8').replace('level: info', 'level: debug'));
  process.kill(Number(readFileSync(join(directory, 'daemon.pid'), 'utf8')), 'SIGHUP');
}
