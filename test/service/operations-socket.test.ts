import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { parse, stringify } from 'yaml';
import { loadConfig } from '../../src/config/config.ts';
import { createOperationsServer } from '../../src/http/health-listener.ts';
import { addressOf, listen } from '../../src/service/listen.ts';
import { quickstartEnvironment } from '../support/quickstart-environment.ts';
import { notRoot, skipNote } from '../support/skip-note.ts';

const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const loopback = { host: '127.0.0.1', port: 0 };

let directory: string;
let socketPath: string;
let server: Server | undefined;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'signetd-operations-'));
  // The socket is to be what keeps others out, not its directory.
  chmodSync(directory, 0o711);
  socketPath = join(directory, 'operations.sock');
});

afterEach(() => {
  server?.close();
  server = undefined;
  rmSync(directory, { recursive: true, force: true });
});

/** What curl gets over the socket, as a user of the machine. */
async function get(path: string, user: { uid?: number; gid?: number } = {}): Promise<string> {
  const curl = promisify(execFile)('curl', ['--silent', '--show-error', '--unix-socket', socketPath, `http://signetd${path}`], {
    cwd: '/',
    ...user,
  });
  return curl.then(
    ({ stdout }) => stdout,
    (error: unknown) => `curl: ${error instanceof Error && 'code' in error ? String(error.code) : ''}`,
  );
}

const couldNotConnect = 'curl: 7';

async function operations(socketGroup?: number): Promise<void> {
  const health = { ready: async () => Promise.resolve({}), warnings: () => ({}) };
  const metrics = { exposition: async () => Promise.resolve({ mediaType: 'text/plain', text: 'figures' }) };
  const address = { ...loopback, socketPath, socketGroup };
  server = createOperationsServer(health, metrics, { ...address, connectionsMax: 100, idleTimeoutSeconds: 60 });
  await listen(server, address, undefined);
}

describe('the operations listener on a Unix socket', () => {
  it('is for the user of the service alone', async () => {
    await operations();
    expect(statSync(socketPath).mode & 0o777).toBe(0o600);
    expect(await get('/metrics')).toBe('figures');
    expect(addressOf(server ?? createServer())).toBe(socketPath);
  });

  it.skipIf(notRoot !== undefined)(`keeps other users out, and lets the group in that is named${skipNote(notRoot)}`, async () => {
    const monitoring = 64_030;
    await operations();
    expect(await get('/metrics', { uid: 64_001, gid: monitoring })).toBe(couldNotConnect);
    server?.close();
    await operations(monitoring);
    const { mode, gid } = statSync(socketPath);
    expect([mode & 0o777, gid]).toEqual([0o660, monitoring]);
    expect(await get('/metrics', { uid: 64_001, gid: monitoring })).toBe('figures');
    expect(await get('/metrics', { uid: 64_001, gid: 64_001 })).toBe(couldNotConnect);
  });

  it('takes the place of what a dead service left, and of no service that runs', async () => {
    writeFileSync(socketPath, '');
    await operations();
    expect(await get('/health/live')).toContain('"live"');
    const second = createServer();
    await expect(listen(second, { ...loopback, socketPath }, undefined)).rejects.toThrow(`another service is listening at ${socketPath}`);
    await expect(listen(second, { ...loopback, socketPath: join(directory, 'nowhere', 'x') }, undefined)).rejects.toThrow('ENOENT');
    await expect(listen(second, { ...loopback, socketPath: `${socketPath}2`, socketGroup: 'no-such-group' }, undefined)).rejects.toThrow(
      'there is no group "no-such-group"',
    );
  });

  it('serves a whole service: ready, metrics, and the end of a stop', async () => {
    const environment = quickstartEnvironment();
    environment.prepare();
    const { configFile } = environment.description();
    const config = parse(readFileSync(configFile, 'utf8')) as Record<string, Record<string, object>>;
    const { listeners } = config;
    writeFileSync(configFile, stringify({ ...config, listeners: { ...listeners, operations: { socketPath } } }));
    expect(loadConfig(configFile).listeners.operations).toMatchObject({ socketPath });
    const daemon = spawn(process.execPath, ['--disable-sigusr1', main, '--config', configFile], { stdio: ['ignore', 'ignore', 'ignore'] });
    try {
      await vi.waitUntil(async () => (await get('/health/ready')).includes('"status":"ready"'), { timeout: 100_000, interval: 100 });
      expect(statSync(socketPath).mode & 0o777).toBe(0o600);
      expect(await get('/metrics')).toContain('signetd_build_info');
    } finally {
      const ended = once(daemon, 'exit');
      daemon.kill('SIGTERM');
      expect(await ended).toEqual([0, null]);
      environment.remove();
    }
    expect(existsSync(socketPath)).toBe(false);
  }, 120_000);
});
