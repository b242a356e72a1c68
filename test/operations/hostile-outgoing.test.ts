import type { AddressInfo, Socket } from 'node:net';
import { createServer } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  call,
  codeOf,
  contentDocument,
  messageOf,
  newKey,
  secretOf,
  type ApiAnswer,
  type ClientName,
  type TestKey,
} from '../support/api.ts';

/** Two clients of two tenants. */
const [slow, other] = ['other', 'app'] as const;
const sockets = new Set<Socket>();
/** Requests that came in. */
let heard: (count: number) => void = () => undefined;
let count = 0;
let answer = '';
const server = createServer((socket) => {
  sockets.add(socket);
  socket.on('error', () => undefined);
  socket.once('data', () => {
    count += 1;
    heard(count);
    if (answer !== '') socket.write(answer);
  });
});
let url: string;
const keys = new Map<ClientName, TestKey>();

beforeAll(async () => {
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  for (const client of [slow, other]) keys.set(client, await newKey(client));
});
afterAll(() => {
  for (const socket of sockets) socket.destroy();
  server.close();
});

async function stamped(client: ClientName, documents = 1): Promise<ApiAnswer> {
  const key = keys.get(client);
  if (key === undefined) throw new Error(`no key of ${client}`);
  const timeStamp = { URLSource: 'CLIENT', clientURL: [url] };
  return call(client, 'signature/sign', {
    keyReference: secretOf(key),
    parameters: { XP7Signature: { XP7Format: 'CXP_7', XP7Providers: { CXP7Parameters: { detached: true } }, timeStamp } },
    inputDocuments: Array.from({ length: documents }, (_, index) => contentDocument(`document ${index}`, String(index))),
  });
}

it('a server that switches to another protocol is one that has no time-stamp', async () => {
  answer = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n';
  const refused = await stamped(slow);
  expect([codeOf(refused), messageOf(refused)]).toEqual(['2/231', expect.stringContaining('no valid answer')]);
});

it('slow servers of one tenant leave half of the connections to the others', async () => {
  const half = 32;
  const reached = Promise.withResolvers<void>();
  answer = '';
  count = 0;
  heard = (now) => {
    if (now === half) reached.resolve();
  };
  const all = Array.from({ length: 5 }, async () => stamped(slow, 8));
  await reached.promise;
  answer = 'HTTP/1.1 500 Fault\r\nContent-Length: 0\r\n\r\n';
  for (let round = 1; round <= 4; round += 1) {
    const refused = await stamped(other);
    expect([codeOf(refused), messageOf(refused)]).toEqual(['2/231', expect.stringContaining('no valid answer')]);
    expect(count).toBe(half + round);
  }
  for (const socket of sockets) socket.destroy();
  expect((await Promise.all(all)).map(codeOf)).toEqual(all.map(() => '2/231'));
});
