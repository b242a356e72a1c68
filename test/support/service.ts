import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { postgresqlTemplate } from './postgresql.ts';
import { keepAsTemplate, quickstartEnvironment } from './quickstart-environment.ts';
import { finishCollecting, startCollecting } from './suite-logs.ts';
import { makeTemplateToken } from './template-token.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Directory of the quickstart that the whole run shares. */
    quickstartDirectory: string;
    /** A SoftHSM token to be copied: initialised, with the MAC key, as one is that a service has started with, and with nothing else. */
    templateToken: string;
  }
}

const environment = quickstartEnvironment();
const templateToken = mkdtempSync(join(tmpdir(), 'signetd-template-token-'));
const templateQuickstart = mkdtempSync(join(tmpdir(), 'signetd-template-quickstart-'));
const templatePostgresql = mkdtempSync(join(tmpdir(), 'signetd-template-postgresql-'));
const compileCache = mkdtempSync(join(tmpdir(), 'signetd-compile-cache-'));

/** One running service for all test files that speak HTTP. */
export async function setup(project: TestProject): Promise<void> {
  startCollecting();
  // The suite starts the service a thousand times: what was compiled once need not be again.
  process.env['NODE_COMPILE_CACHE'] = compileCache;
  await makeTemplateToken(templateToken);
  project.provide('templateToken', templateToken);
  process.env[postgresqlTemplate] = join(templatePostgresql, 'data');
  environment.start();
  environment.stop();
  keepAsTemplate(environment, templateQuickstart);
  environment.start();
  sayMore(environment.directory);
  project.provide('quickstartDirectory', environment.directory);
}

export function teardown(): void {
  environment.remove();
  for (const directory of [templateToken, templateQuickstart, templatePostgresql, compileCache])
    rmSync(directory, { recursive: true, force: true });
  finishCollecting();
}

/** The log of the suite says all that a log can say. */
function sayMore(directory: string): void {
  const { configFile } = environment.description();
  writeFileSync(configFile, readFileSync(configFile, 'utf8').replace('level: info', 'level: debug'));
  process.kill(Number(readFileSync(join(directory, 'daemon.pid'), 'utf8')), 'SIGHUP');
}
