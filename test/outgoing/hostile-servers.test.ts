import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { readFileSync } from 'node:fs';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { OutgoingHttp, type OutgoingSettings } from '../../src/outgoing/outgoing-http.ts';
import { ScratchAuthority } from '../support/scratch-authority.ts';

const directory = mkdtempSync(join(tmpdir(), 'signetd-hostile-'));
afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});
const settings: OutgoingSettings = { clientHosts: [], privateNetworks: ['127.0.0.0/8'], timeoutSeconds: 1, connectionsMax: 4 };
const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

async function listening(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => sockets.add(socket));
  closing.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return (server.address() as AddressInfo).port;
}

/** A server that answers every request with these bytes, as they are, and may close then. */
async function raw(answer: string, { secure = false, thenClose = false } = {}): Promise<{ url: URL; ca: string | undefined }> {
  const respond = (socket: Socket): void => {
    socket.on('error', () => undefined);
    socket.once('data', () => {
      socket.write(answer);
      if (thenClose) socket.end();
    });
  };
  if (!secure) return { url: new URL(`http://127.0.0.1:${await listening(createServer(respond))}/`), ca: undefined };
  const authority = new ScratchAuthority(directory, 'Servers');
  const files = authority.issue('Server', { extendedKeyUsage: 'serverAuth', subjectAltName: 'IP:127.0.0.1' });
  const server = createTlsServer({ key: readFileSync(files.key), cert: readFileSync(files.certificate) }, respond);
  return { url: new URL(`https://127.0.0.1:${await listening(server)}/`), ca: readFileSync(authority.certificate, 'utf8') };
}

async function served(listener: RequestListener): Promise<URL> {
  return new URL(`http://127.0.0.1:${await listening(createHttpServer(listener))}/`);
}

const switching = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n';

describe('an exchange comes to an end', () => {
  test.each([
    ['101 with an upgrade', switching, {}, /status 101/],
    ['101 with an upgrade, by https', switching, { secure: true }, /status 101/],
    ['101 with an upgrade, then closed', switching, { thenClose: true }, /status 101/],
    [
      '101 without an upgrade',
      'HTTP/1.1 101 Switching Protocols\r\n\r\n',
      { thenClose: true },
      /status 101|no connection|without an answer/,
    ],
    ['100 without end', 'HTTP/1.1 100 Continue\r\n\r\n', {}, /within 1 s/],
    ['closed at once', '', { thenClose: true }, /no connection/],
    ['cut in the header', 'HTTP/1.1 200 OK\r\nContent-', { thenClose: true }, /no connection/],
  ])('%s, and its place is free again', async (_name, answer, how, reason) => {
    const { url, ca } = await raw(answer, how);
    const http = new OutgoingHttp({ ...settings, connectionsMax: 1, certificateAuthority: ca });
    for (let round = 0; round < 2; round += 1) await expect(http.fetch({ url, method: 'GET', answerMaxBytes: 10 })).rejects.toThrow(reason);
    const good = await served((_request, response) => response.end('good'));
    expect((await http.fetch({ url: good, method: 'GET', answerMaxBytes: 10 })).body.length).toBe(4);
  });

  test('one that is aborted before it begins', async () => {
    const url = await served(() => undefined);
    const http = new OutgoingHttp({ ...settings, connectionsMax: 1 });
    const first = http.fetch({ url, method: 'GET', answerMaxBytes: 10 });
    await expect(http.fetch({ url, method: 'GET', answerMaxBytes: 10, signal: AbortSignal.abort() })).rejects.toThrow(/at once/);
    await expect(first).rejects.toThrow(/within 1 s/);
  });
});

test('an answer that announces too great a length is not read', async () => {
  const { url } = await raw('HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n');
  await expect(new OutgoingHttp(settings).fetch({ url, method: 'GET', answerMaxBytes: 10 })).rejects.toThrow(/more than 10 bytes/);
});

describe('of many tenants', () => {
  test('one has at most half of the connections', async () => {
    const http = new OutgoingHttp({ ...settings, timeoutSeconds: 5 });
    let open = 0;
    const reached = Promise.withResolvers<void>();
    const silent = await served(() => {
      open += 1;
      if (open === 2) reached.resolve();
    });
    const end = new AbortController();
    const slow = http.ofTenant('slow');
    const all = Array.from({ length: 10 }, async () => slow.fetch({ url: silent, method: 'GET', answerMaxBytes: 10, signal: end.signal }));
    await reached.promise;
    const good = await served((_request, response) => response.end('good'));
    for (let round = 0; round < 3; round += 1)
      expect((await http.ofTenant('other').fetch({ url: good, method: 'GET', answerMaxBytes: 10 })).body.length).toBe(4);
    expect(open).toBe(2);
    end.abort();
    expect((await Promise.allSettled(all)).map(({ status }) => status)).toEqual(all.map(() => 'rejected'));
    expect((await slow.fetch({ url: good, method: 'GET', answerMaxBytes: 10 })).body.length).toBe(4);
  });

  test('big answers are read a few at a time, and one tenant leaves places for others', async () => {
    const http = new OutgoingHttp({ ...settings, connectionsMax: 32, timeoutSeconds: 20 });
    const mebibyte = 1024 * 1024;
    const reached = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let begun = 0;
    // More than what waits in the buffers of both sides; it has no end.
    const endless = await served((_request, response) => {
      const here = reached[begun];
      begun += 1;
      response.on('error', () => undefined).write(Buffer.alloc(24 * mebibyte), () => here?.resolve());
    });
    const good = await served((_request, response) => response.end(Buffer.alloc(3 * mebibyte)));
    const small = await served((_request, response) => response.end('good'));
    const answerMaxBytes = 64 * mebibyte;
    const flooding = http.ofTenant('flooding');
    const ends = reached.map(() => new AbortController());
    const failed = ends.map(async ({ signal }) =>
      flooding.fetch({ url: endless, method: 'GET', answerMaxBytes, signal }).catch((error: unknown) => String(error)),
    );
    await Promise.all(reached.map(async ({ promise }) => promise));
    let isDone = false;
    const third = flooding.fetch({ url: good, method: 'GET', answerMaxBytes }).finally(() => {
      isDone = true;
    });
    for (let round = 0; round < 3; round += 1) {
      const ofOther = await http.ofTenant('other').fetch({ url: good, method: 'GET', answerMaxBytes });
      expect(ofOther.body.length).toBe(3 * mebibyte);
    }
    expect((await flooding.fetch({ url: small, method: 'GET', answerMaxBytes })).body.length).toBe(4);
    expect(isDone).toBe(false);
    ends[0]?.abort();
    expect((await third).body.length).toBe(3 * mebibyte);
    ends[1]?.abort();
    expect(await Promise.all(failed)).toEqual(failed.map(() => expect.stringContaining('time of the request') as unknown));
  });
});
