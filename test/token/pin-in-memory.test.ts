import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TokenClient } from '../../src/token/client/token-client.ts';
import { loadTokenConfig } from '../../src/config/config.ts';
import { newKeyId } from '../../src/token/key-id.ts';
import { timesInMemory } from '../support/process-memory.ts';
import { scratchToken, type ScratchToken } from '../support/scratch-token.ts';
import { recordingLog } from '../support/silent-log.ts';
import { noTracing, skipNote } from '../support/skip-note.ts';

/** One that is nowhere by chance. Halves of it are looked for too. */
const pin = 'Ostrich-7f3e9b1c-Quagga-55d0aa24-Numbat';
const traces = [pin, pin.slice(0, 16), pin.slice(-16)];
const none = Object.fromEntries(traces.map((text) => [text, 0]));
const tokenHost = fileURLToPath(new URL('../../dist/token-host.js', import.meta.url));
const softhsm = '/usr/lib/softhsm/libsofthsm2.so';

let scratch: ScratchToken;

beforeAll(() => {
  scratch = scratchToken();
  execFileSync(
    'pkcs11-tool',
    [...['--module', softhsm, '--token-label', 'test', '--login', '--pin', scratch.pin], ...['--change-pin', '--new-pin', pin]],
    { env: { ...process.env, ...scratch.environment }, stdio: 'ignore' },
  );
  writeFileSync(join(scratch.directory, 'pin'), `${pin}\n`, { mode: 0o600 });
});

afterAll(() => {
  scratch.remove();
});

/** The same configuration with other settings of the token. */
function configuredAs(settings: object): string {
  const path = join(scratch.directory, 'other.yaml');
  const { modulePath: _absent, ...config } = scratch.config;
  writeFileSync(path, JSON.stringify({ token: { ...config, ...settings } }));
  return path;
}

async function work(token: TokenClient): Promise<void> {
  const id = newKeyId('general');
  await token.createKey(id, 'P-256');
  for (let request = 0; request < 20; request += 1) {
    await token.signDigests(id, { scheme: 'ECDSA', hash: 'sha256' }, [new Uint8Array(32)]);
  }
}

describe.skipIf(noTracing !== undefined)(`a token host that has logged in has no copy of the PIN${skipNote(noTracing)}`, () => {
  it('the scan finds what a process has', async () => {
    const holder = spawn('/bin/sh', ['-c', `held='${pin}'; read line`], { stdio: ['pipe', 'ignore', 'ignore'] });
    await once(holder, 'spawn');
    await expect.poll(() => timesInMemory(holder.pid ?? 0, traces)[pin]).toBeGreaterThan(0);
    const ended = once(holder, 'exit');
    holder.stdin.end();
    await ended;
  });

  it.each([
    ['as it is', {}],
    ['with a form of the PIN in the profile', { profile: true }],
    ['with the module isolated', { isolateModule: true }],
  ])('as the child of the daemon, %s', async (_name, settings: { profile?: boolean; isolateModule?: boolean }) => {
    const profile = join(scratch.directory, 'formed.yaml');
    writeFileSync(
      profile,
      JSON.stringify({
        ...{ vendor: 'a vendor', tried: false, source: ['this test'], modulePaths: [softhsm] },
        pin: { pattern: '^[A-Z][a-z]+-[0-9a-f]{8}-.+$', form: 'animals' },
      }),
    );
    const path = configuredAs({ ...settings, ...(settings.profile === undefined ? {} : { profile }) });
    const token = new TokenClient(loadTokenConfig(path), path, recordingLog());
    await token.start();
    try {
      expect(timesInMemory(token.hostPid ?? 0, traces)).toEqual(none);
      await work(token);
      expect(timesInMemory(token.hostPid ?? 0, traces)).toEqual(none);
    } finally {
      await token.stop();
    }
  });

  it('as it is installed: a service of its own without the JIT compiler, its PIN a credential', async () => {
    const path = configuredAs({ host: 'external', pin: 'credential:pin' });
    const host = spawn(process.execPath, ['--disable-sigusr1', '--jitless', '--no-warnings', tokenHost, '--config', path], {
      stdio: ['ignore', 'ignore', 'ignore'],
      env: { PATH: process.env['PATH'], ...scratch.environment, CREDENTIALS_DIRECTORY: scratch.directory },
    });
    const token = new TokenClient(loadTokenConfig(path), path, recordingLog());
    try {
      await token.start();
      await work(token);
      expect(timesInMemory(host.pid ?? 0, traces)).toEqual(none);
      // The daemon never had it.
      expect(existsSync(`/proc/${host.pid}/mem`)).toBe(true);
    } finally {
      await token.stop();
      const ended = once(host, 'exit');
      host.kill('SIGTERM');
      await ended;
    }
  });
});
