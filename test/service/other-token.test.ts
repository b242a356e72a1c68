import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { loadTokenConfig } from '../../src/config/config.ts';
import { macKeyId } from '../../src/token/key-id.ts';
import { withOwnPorts } from '../support/daemon-process.ts';
import { quickstartEnvironment } from '../support/quickstart-environment.ts';

const environment = quickstartEnvironment();

beforeAll(() => {
  environment.prepare();
  withOwnPorts(environment);
});

afterAll(() => {
  environment.remove();
});

it('does not start with a token that does not have the key which its secrets were made with, says what to do, and makes none', () => {
  const { configFile } = environment.description();
  const { label, environment: variables } = loadTokenConfig(configFile);
  const pin = readFileSync(join(environment.directory, 'token', 'pin'), 'utf8').trim();
  const onToken = (...work: string[]): string =>
    execFileSync(
      'pkcs11-tool',
      ['--module', '/usr/lib/softhsm/libsofthsm2.so', '--token-label', label, '--login', '--pin', pin, '--type', 'secrkey', ...work],
      { env: { ...process.env, ...variables }, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] },
    );
  expect(onToken('--list-objects')).toContain(macKeyId);
  onToken('--delete-object', '--id', macKeyId);
  for (let start = 0; start < 2; start += 1) {
    const { status, stderr } = spawnSync(process.execPath, ['--disable-sigusr1', 'dist/main.js', '--config', configFile], {
      encoding: 'utf8',
      timeout: 60_000,
    });
    expect(stderr).toContain(`signetd cannot start: the token "${label}" has no MAC key, and this state store was used with one.`);
    expect(stderr).toContain('restore it from its backup');
    expect(status).toBe(78);
  }
  expect(onToken('--list-objects')).not.toContain(macKeyId);
}, 180_000);
