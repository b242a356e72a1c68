import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, statSync, writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { AdminSocket } from '../../src/admin/admin-socket.ts';
import { askService } from '../../src/admin/ask.ts';
import type { AdminAnswer } from '../../src/admin/protocol.ts';
import { loadTokenConfig } from '../../src/config/config.ts';
import { TokenClient } from '../../src/token/client/token-client.ts';
import { encodeFrame, operations } from '../../src/token/wire/frames.ts';
import { FieldWriter } from '../../src/token/wire/fields.ts';
import { scratchToken, type ScratchToken } from '../support/scratch-token.ts';
import { signetctl } from '../support/signetctl.ts';
import { recordingLog } from '../support/silent-log.ts';
import { notRoot, skipNote } from '../support/skip-note.ts';

const [client, stranger, hostGroup, administrators] = [64_001, 64_002, 64_010, 64_020];
const tokenHost = fileURLToPath(new URL('../../dist/token-host.js', import.meta.url));

/**
 * Connects as another user, sends what it is given once it is connected, and prints what comes back, `closed`, or why it cannot connect. Python, since
 * the other user may not read this project's files.
 */
const talk = `
import os, socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.settimeout(20)
try:
    connection.connect(sys.argv[1])
    connection.sendall(bytes.fromhex(sys.argv[2]))
    print(connection.recv(65536).hex() or 'closed')
except OSError as error:
    print(type(error).__name__)
`;

/** A different user of the machine, in these groups, at a socket. */
async function as(user: number, groups: readonly number[], path: string, request: Buffer = Buffer.alloc(0)): Promise<string> {
  const identity = [`--reuid=${user}`, `--regid=${groups[0] ?? user}`];
  const others = groups.length > 1 ? `--groups=${groups.slice(1).join(',')}` : '--clear-groups';
  const { stdout } = await promisify(execFile)(
    'setpriv',
    [...identity, others, '/usr/bin/python3', '-c', talk, path, request.toString('hex')],
    { cwd: '/', env: { PATH: '/usr/bin:/bin' } },
  );
  return stdout.trim();
}

const random = (): Buffer => Buffer.from(encodeFrame(1, operations.random, new FieldWriter().u32(8).finish()));

/** The sockets of a host that runs in a group of its own and serves `clientUser`. */
describe.skipIf(notRoot !== undefined)(`the sockets of a token host${skipNote(notRoot)}`, () => {
  let scratch: ScratchToken;
  let host: ChildProcess;
  let said = '';
  let sockets: readonly string[];

  beforeAll(async () => {
    scratch = scratchToken({ threads: 2, host: 'external', clientUser: client });
    // The sockets are to be what keeps others out, not their directory.
    chmodSync(scratch.directory, 0o711);
    host = spawn(
      'setpriv',
      [
        `--regid=${hostGroup}`,
        '--clear-groups',
        process.execPath,
        '--disable-sigusr1',
        '--jitless',
        '--no-warnings',
        tokenHost,
        '--config',
        scratch.configPath,
      ],
      { stdio: ['ignore', 'ignore', 'pipe'], env: { PATH: process.env['PATH'], ...scratch.environment } },
    );
    host.stderr?.on('data', (chunk: Buffer) => {
      said += chunk.toString('utf8');
    });
    const { socketPath } = scratch.config;
    sockets = [socketPath, `${socketPath}.0`, `${socketPath}.1`];
    await vi.waitUntil(async () => !(await as(0, [0], socketPath)).endsWith('Error'), { timeout: 30_000 });
  });

  afterAll(async () => {
    const ended = once(host, 'exit');
    host.kill('SIGTERM');
    await ended;
    scratch.remove();
  });

  const [greeting, firstThread, secondThread] = [0, 1, 2];

  it('are for the group of the host, where the daemon is another user', () => {
    for (const path of sockets) {
      const { mode, gid } = statSync(path);
      expect([path, mode & 0o777, gid]).toEqual([path, 0o660, hostGroup]);
    }
  });

  it.each([
    ['the one that greets', greeting, Buffer.alloc(0)],
    ['that of the first thread', firstThread, random()],
    ['that of the second thread', secondThread, random()],
  ])('serve the user of the daemon and root, and end the connection of another member of the group: %s', async (_name, index, request) => {
    const path = sockets[index] ?? '';
    expect(await as(client, [hostGroup], path, request)).toMatch(/^[0-9a-f]{16,}$/);
    expect(await as(0, [0], path, request)).toMatch(/^[0-9a-f]{16,}$/);
    expect(await as(stranger, [hostGroup], path, request)).toMatch(/^(closed|ConnectionResetError|BrokenPipeError)$/);
    expect(await as(stranger, [stranger, hostGroup], path, request)).toMatch(/^(closed|ConnectionResetError|BrokenPipeError)$/);
  });

  it('cannot be opened by the user of the daemon without the group, nor by strangers', async () => {
    for (const path of sockets) {
      expect(await as(client, [client], path)).toBe('PermissionError');
      expect(await as(stranger, [stranger], path)).toBe('PermissionError');
    }
  });

  it('say once in the log who was refused', async () => {
    await as(stranger, [hostGroup], sockets[greeting] ?? '');
    await expect.poll(() => said).toContain('refused a connection');
    const lines = said.split('\n').filter((line) => line.includes('refused a connection'));
    expect(lines).toEqual([expect.stringContaining(`refused a connection from user ${stranger}`)]);
  });

  it('cannot be opened by the group that may administrate', async () => {
    const socketPath = join(scratch.directory, 'admin.sock');
    const answer: AdminAnswer = { outcome: 'done', result: {}, notes: [] };
    const asked: number[] = [];
    const admin = await AdminSocket.open({ socketPath, access: 'group', group: administrators }, recordingLog(), async (_request, user) => {
      asked.push(user);
      return Promise.resolve(answer);
    });
    try {
      expect(await askService(socketPath, { command: 'status' })).toEqual(answer);
      expect(Buffer.from(await as(stranger, [administrators], socketPath), 'hex').toString('utf8')).toMatch(/^\{"protocol":/);
      for (const path of sockets) expect(await as(stranger, [administrators], path)).toBe('PermissionError');
      // And the other way round: whoever could open the host's sockets has no say in the service.
      expect(await as(stranger, [hostGroup], socketPath)).toBe('PermissionError');
    } finally {
      await admin.close();
    }
  });

  it('serve signetctl, which root runs', async () => {
    expect(await signetctl(['--config', scratch.configPath, 'token', 'probe'])).toMatchObject({ status: 0, stderr: '' });
  });
});

describe('token.clientUser', () => {
  it('that the machine does not know is a fault of the configuration', async () => {
    const scratch = scratchToken({ clientUser: 'nobody-of-this-name' });
    const token = new TokenClient(scratch.config, scratch.configPath, recordingLog());
    await expect(token.start()).rejects.toThrow('token.clientUser: there is no user "nobody-of-this-name"');
    await token.stop();
    scratch.remove();
  });

  it('is a name or a number', () => {
    const scratch = scratchToken();
    const path = join(scratch.directory, 'other.yaml');
    const read = (clientUser: unknown): unknown => {
      writeFileSync(path, JSON.stringify({ token: { label: 'test', pin: 'credential:pin', clientUser } }));
      return loadTokenConfig(path).clientUser;
    };
    expect([read('signetd'), read(998)]).toEqual(['signetd', 998]);
    for (const wrong of ['', '998', 'two words', -1, 0xffffffff]) expect(() => read(wrong)).toThrow('token.clientUser');
    scratch.remove();
  });

  it('is nobody else by default: the sockets are for the own user alone', async () => {
    const scratch = scratchToken();
    const token = new TokenClient(scratch.config, scratch.configPath, recordingLog());
    await token.start();
    try {
      for (const path of [scratch.config.socketPath, `${scratch.config.socketPath}.0`]) {
        expect(statSync(path).mode & 0o777).toBe(0o600);
        const connection = createConnection(path);
        await once(connection, 'connect');
        connection.destroy();
      }
    } finally {
      await token.stop();
      scratch.remove();
    }
  });
});
