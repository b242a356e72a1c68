import { linkSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createConnection, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AdminSocket } from '../../src/admin/admin-socket.ts';
import { AdminFailure, askService, NotRunning } from '../../src/admin/ask.ts';
import { AdminRequest, requestMaxBytes, type AdminAnswer } from '../../src/admin/protocol.ts';
import { recordingLog } from '../support/silent-log.ts';

let directory: string;
let socketPath: string;
let socket: AdminSocket | undefined;
let carriedOut: { request: AdminRequest; uid: number }[];

const done: AdminAnswer = { outcome: 'done', result: { well: true }, notes: [] };

async function open(access: 'user' | 'group' = 'user', path = socketPath): Promise<AdminSocket> {
  return AdminSocket.open({ socketPath: path, access }, recordingLog(), async (request, uid) => {
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

/** Speaks the protocol by hand: sends bytes after the proof was made as `prove` does it; answers what came after the greeting. */
async function speak(bytes: string | Uint8Array, prove: (path: string) => void = (path) => writeFileSync(path, '')): Promise<string> {
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
      const { proof } = JSON.parse(text.slice(0, feed)) as { proof: string };
      text = text.slice(feed + 1);
      prove(join(`${socketPath}.callers`, proof));
      connection.end(bytes);
    });
    connection.on('close', () => {
      resolve(text);
    });
  });
}

const modeOf = (path: string): number => statSync(path).mode & 0o7777;

describe('the admin socket', () => {
  it('is for the user of the service alone, or for its group', async () => {
    socket = await open();
    expect([modeOf(socketPath), modeOf(`${socketPath}.callers`)]).toEqual([0o600, 0o700]);
    await socket.close();
    socket = await open('group');
    expect([modeOf(socketPath), modeOf(`${socketPath}.callers`)]).toEqual([0o660, 0o1770]);
  });

  it('tells the command who asks, and leaves no proof behind', async () => {
    socket = await open();
    expect(await askService(socketPath, { command: 'status' })).toEqual(done);
    expect(carriedOut).toEqual([{ request: { command: 'status' }, uid: process.getuid?.() }]);
    expect(readdirSync(`${socketPath}.callers`)).toEqual([]);
  });

  it('carries nothing out for who does not show whose user they are', async () => {
    socket = await open();
    const line = '{"command":"status"}\n';
    const foreign = join(directory, 'a file of somebody');
    writeFileSync(foreign, '');
    const answers = [await speak(line, () => undefined), await speak(line, (path) => linkSync(foreign, path))];
    for (const answer of answers) expect(JSON.parse(answer)).toMatchObject({ outcome: 'refused' });
    expect(carriedOut).toEqual([]);
    expect(await speak(line)).toContain('"done"');
  });

  it('is one service: a second one does not open it, what a dead one left is replaced', async () => {
    socket = await open();
    await expect(open()).rejects.toThrow('another service listens');
    await socket.close();
    writeFileSync(socketPath, '');
    socket = await open();
    expect(await askService(socketPath, { command: 'status' })).toEqual(done);
  });

  it('says plainly that no service runs, or that the socket cannot be used', async () => {
    await expect(askService(socketPath, { command: 'status' })).rejects.toThrow(NotRunning);
    await expect(open('user', join(directory, 'nowhere', 'admin.sock'))).rejects.toThrow('admin.socketPath: ENOENT');
    socket = await open();
    rmSync(`${socketPath}.callers`, { recursive: true });
    await expect(askService(socketPath, { command: 'status' })).rejects.toThrow(AdminFailure);
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
