import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createConnection, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { AdminSocket, Connections } from '../../src/admin/admin-socket.ts';
import { AdminFailure, askService, NotRunning } from '../../src/admin/ask.ts';
import { AdminRequest, requestMaxBytes, type AdminAnswer } from '../../src/admin/protocol.ts';
import { recordingLog } from '../support/silent-log.ts';
import { notRoot, skipNote } from '../support/skip-note.ts';

let directory: string;
let socketPath: string;
let socket: AdminSocket | undefined;
let carriedOut: { request: AdminRequest; uid: number }[];

const done: AdminAnswer = { outcome: 'done', result: { well: true }, notes: [] };

async function open(
  access: 'user' | 'group' = 'user',
  path = socketPath,
  group: number | string = process.getgid?.() ?? 0,
): Promise<AdminSocket> {
  return AdminSocket.open({ socketPath: path, access, group }, recordingLog(), async (request, uid) => {
    carriedOut.push({ request, uid });
    return Promise.resolve(done);
  });
}

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'signetd-admin-'));
  socketPath = join(directory, 'admin.sock');
  carriedOut = [];
});

afterEach(async () => {
  await socket?.close();
  socket = undefined;
  rmSync(directory, { recursive: true, force: true });
});

/** Speaks the protocol by hand: answers what came after the greeting. */
async function speak(bytes: string | Uint8Array): Promise<string> {
  return new Promise((resolve, reject) => {
    const connection: Socket = createConnection(socketPath);
    let text = '';
    let isGreeted = false;
    connection.on('error', reject);
    connection.on('data', (chunk: Buffer) => {
      text += chunk.toString('utf8');
      const feed = text.indexOf('\n');
      if (isGreeted || feed < 0) return;
      isGreeted = true;
      text = text.slice(feed + 1);
      connection.end(bytes);
    });
    connection.on('close', () => {
      resolve(text);
    });
  });
}

const modeOf = (path: string): number => statSync(path).mode & 0o7777;

describe('the admin socket', () => {
  it('is only for the user of the service, or for its group', async () => {
    socket = await open();
    expect(modeOf(socketPath)).toBe(0o600);
    await socket.close();
    socket = await open('group');
    expect(modeOf(socketPath)).toBe(0o660);
  });

  it('tells the command the user of its peer, as known to the kernel', async () => {
    socket = await open();
    expect(await askService(socketPath, { command: 'status' })).toEqual(done);
    expect(carriedOut).toEqual([{ request: { command: 'status' }, uid: process.getuid?.() }]);
    expect(readdirSync(directory)).toEqual(['admin.sock']);
  });

  it.skipIf(notRoot !== undefined)(`tells another user of the group by their number${skipNote(notRoot)}`, async () => {
    socket = await open('group');
    chmodSync(directory, 0o755);
    chmodSync(socketPath, 0o666);
    const script = `require('node:net').connect(${JSON.stringify(socketPath)}).end('{"command":"status"}\\n').resume()`;
    await promisify(execFile)(process.execPath, ['--disable-sigusr1', '--eval', script], { uid: 65_534, gid: 65_534, cwd: '/' });
    expect(carriedOut).toEqual([{ request: { command: 'status' }, uid: 65_534 }]);
  });

  it('has room for an operator, however many silent connections another user opens', () => {
    const [service, nobody] = [1000, 65_534];
    const connections = new Connections(service);
    const taken = (user: number): number => Array.from({ length: 100 }, () => connections.take(user)).filter(Boolean).length;
    expect(taken(nobody)).toBe(8);
    for (let other = 2000; other < 2100; other += 1) taken(other);
    expect([taken(service), taken(0)]).toEqual([8, 8]);
    expect([connections.take(nobody), connections.take(3000)]).toEqual([false, false]);
    connections.release(nobody);
    expect([connections.take(nobody), connections.take(nobody)]).toEqual([true, false]);
  });

  it('refuses a user with too many connections with a message, and closes silent connections immediately', async () => {
    socket = await open();
    const silent = await Promise.all(
      Array.from({ length: 8 }, async () => {
        const connection = createConnection(socketPath);
        await once(connection, 'data');
        return connection;
      }),
    );
    expect(await askService(socketPath, { command: 'status' })).toEqual({
      outcome: 'refused',
      faults: [expect.stringContaining('try again') as unknown],
    });
    silent[0]?.destroy();
    await vi.waitFor(async () => {
      expect(await askService(socketPath, { command: 'status' })).toEqual(done);
    }, 60_000);
    const closed = Promise.all(silent.slice(1).map(async (connection) => once(connection, 'close')));
    await socket.close();
    await closed;
    socket = undefined;
  });

  it('belongs to one service: a second one cannot open it, and the socket of a dead one is replaced', async () => {
    socket = await open();
    await expect(open()).rejects.toThrow('another service is listening');
    await socket.close();
    writeFileSync(socketPath, '');
    socket = await open();
    expect(await askService(socketPath, { command: 'status' })).toEqual(done);
  });

  it('reports that no service runs, or that the socket cannot be used', async () => {
    await expect(askService(socketPath, { command: 'status' })).rejects.toThrow(NotRunning);
    await expect(open('user', join(directory, 'nowhere', 'admin.sock'))).rejects.toThrow('admin.socketPath: ENOENT');
    writeFileSync(socketPath, '');
    chmodSync(socketPath, 0o600);
    await expect(askService(socketPath, { command: 'status' })).rejects.toThrow(NotRunning);
    await expect(askService(`${socketPath}/nowhere`, { command: 'status' })).rejects.toThrow(AdminFailure);
  });

  it.each([
    ['no JSON', 'status'],
    ['a member twice', '{"command":"status","command":"reload"}'],
    ['an unknown command', '{"command":"key unlock"}'],
    ['an unknown member', '{"command":"status","force":true}'],
    ['a role that is none', '{"command":"client add","certificate":"AAAA","name":"a","tenant":"t","roles":["root"],"replace":false}'],
    [
      'a name with a line feed',
      '{"command":"client add","certificate":"AAAA","name":"a\\nb","tenant":"t","roles":["keys"],"replace":false}',
    ],
    ['bytes that are no UTF-8', Buffer.from([0x7b, 0xff, 0x7d])],
  ])('refuses %s, in words', async (_what, line) => {
    socket = await open();
    const answer: unknown = JSON.parse(await speak(Buffer.concat([Buffer.from(line), Buffer.from('\n')])));
    expect(answer).toEqual({ outcome: 'refused', faults: [expect.stringMatching(/./)] });
    expect(carriedOut).toEqual([]);
  });

  it('ends a connection that sends too much, a second line, or none', async () => {
    socket = await open();
    expect(await speak(Buffer.alloc(requestMaxBytes + 2, 0x20))).toBe('');
    expect(await speak('{"command":"status"}\n{"command":"reload"}\n')).toBe('');
    expect(await speak('')).toBe('');
    expect(carriedOut).toEqual([]);
  });

  it('closes the connection of a peer that does not read its answer, and ends without waiting for it', async () => {
    const long: AdminAnswer = { outcome: 'done', result: 'x'.repeat(8 * 1024 * 1024), notes: [] };
    socket = await AdminSocket.open({ socketPath, access: 'user', group: 0 }, recordingLog(), async () => Promise.resolve(long));
    for (let round = 0; round < 2; round += 1) {
      const silent = createConnection(socketPath);
      await once(silent, 'connect');
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      try {
        silent.write('{"command":"status"}\n');
        // The first bytes of the answer follow the greeting, and the others wait.
        await new Promise<void>((resolve) => {
          silent.on('data', () => {
            if (silent.bytesRead < 1000) return;
            silent.pause();
            resolve();
          });
        });
        vi.advanceTimersByTime(10_000);
      } finally {
        vi.useRealTimers();
      }
      if (round === 1) await socket.close();
      silent.removeAllListeners('data').resume();
      await once(silent, 'close');
      expect(silent.bytesRead).toBeLessThan(8 * 1024 * 1024);
    }
    socket = undefined;
  });

  it('carries out exactly the requests that the protocol has, whatever is sent', async () => {
    socket = await open();
    const almost = fc
      .record({
        command: fc.constantFrom('client list', 'client revoke', 'key show', 'key list', 'status', 'reload', 'token init'),
        client: fc.option(fc.string(), { nil: undefined }),
        reference: fc.option(fc.oneof(fc.string(), fc.constant('ab'.repeat(20))), { nil: undefined }),
        tenant: fc.option(fc.string(), { nil: undefined }),
      })
      .map((request) => JSON.stringify(request));
    await fc.assert(
      fc.asyncProperty(fc.oneof(almost, fc.json(), fc.string({ unit: 'binary' })), async (line) => {
        carriedOut = [];
        const isOneLine = !line.includes('\n');
        const answer = await speak(`${line}\n`);
        let value: unknown;
        try {
          value = JSON.parse(line);
        } catch {
          value = undefined;
        }
        const isRequest = isOneLine && AdminRequest.safeParse(value).success;
        expect(carriedOut).toHaveLength(isRequest ? 1 : 0);
        if (answer !== '') expect(JSON.parse(answer)).toMatchObject({ outcome: isRequest ? 'done' : 'refused' });
      }),
      { numRuns: 300 },
    );
  });
});
