import { connect as connectPlainly, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { OpenConnection } from './open-connection.ts';
import { as, authority, sClient, scratchListener, type ScratchListener } from './scratch-listener.ts';

let listener: ScratchListener;
const client = authority.issue('client');
const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  listener.close();
});

/** A connection that says nothing, not even hello. */
function silent(localAddress = '127.0.0.1'): Socket {
  const socket = connectPlainly({ port: listener.port, host: '127.0.0.1', localAddress }).on('error', () => undefined);
  sockets.push(socket);
  return socket;
}

/** However it ends. */
const ended = async (socket: Socket): Promise<unknown> => new Promise((resolve) => socket.once('close', resolve));

describe('limits of the API listener', () => {
  it('never replaces a registered client, and gives strangers places by address', async () => {
    listener = await scratchListener({ connectionsMax: 8, connectionsMaxUnadmitted: 3, connectionsMaxUnadmittedPerAddress: 2 });
    const known = await OpenConnection.open(listener.port, client);
    expect(await known.send()).toContain('200 OK');
    const strangers = Array.from({ length: 5 }, () => silent('127.0.0.2'));
    await Promise.all(strangers.slice(0, 3).map(ended));
    expect(listener.audited).toEqual(
      Array.from({ length: 3 }, () => 'more connections without a registered client than limits.connectionsMaxUnadmittedPerAddress'),
    );
    expect(listener.unadmittedConnections()).toBe(2);
    const another = await OpenConnection.open(listener.port, client);
    for (const connection of [known, another]) expect(await connection.send()).toContain('200 OK');
    expect(strangers.slice(3).map(({ destroyed }) => destroyed)).toEqual([false, false]);
    for (const connection of [known, another]) connection.close();
  });

  it('a client that is not registered gets its answer, and keeps no place', async () => {
    const registered = new Set<boolean>();
    listener = await scratchListener({ connectionsMaxUnadmittedPerAddress: 1, isRegistered: () => registered.has(true) });
    const first = await OpenConnection.open(listener.port, client);
    expect(await first.send()).toContain('200 OK');
    expect(listener.unadmittedConnections()).toBe(1);
    const second = await OpenConnection.open(listener.port, client);
    await first.closed();
    registered.add(true);
    expect(await second.send()).toContain('200 OK');
    expect(listener.unadmittedConnections()).toBe(0);
    registered.clear();
    expect(await second.send()).toContain('200 OK');
    expect(listener.unadmittedConnections()).toBe(1);
    second.close();
  });

  it('closes connections beyond connectionsMax, and serves again when there is room', async () => {
    listener = await scratchListener({ connectionsMax: 2 });
    const first = await OpenConnection.open(listener.port, client);
    expect(await first.send()).toContain('200 OK');
    const second = await OpenConnection.open(listener.port, client);
    expect(await second.send()).toContain('200 OK');
    await ended(silent());
    expect(listener.audited).toEqual(['more connections than limits.connectionsMax']);
    expect(await first.send()).toContain('200 OK');
    second.close();
    await second.closed();
    await expect.poll(async () => sClient(listener.port, as(client)), { timeout: 30_000 }).toContain('HTTP/1.1 200 OK');
    first.close();
  });

  it('closes a connection whose handshake does not end', async () => {
    listener = await scratchListener({ handshakeTimeoutSeconds: 0.2 });
    await ended(silent());
    expect(listener.audited).toEqual(['TLS handshake: ERR_TLS_HANDSHAKE_TIMEOUT']);
  });

  it('closes idle connections, after a request and before the first', async () => {
    listener = await scratchListener({ keepAliveTimeoutSeconds: 0.2, headersTimeoutSeconds: 0.2 });
    const [used, unused] = [await OpenConnection.open(listener.port, client), await OpenConnection.open(listener.port, client)];
    expect(await used.send()).toContain('200 OK');
    await Promise.all([used.closed(), unused.closed()]);
  });

  it('answers 431 to 64 KiB of header', async () => {
    listener = await scratchListener();
    const connection = await OpenConnection.open(listener.port, client);
    const answer = await connection.send(`GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: ${'a'.repeat(64 * 1024)}\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 431 [^]*application\/problem\+json/);
    await connection.closed();
    expect(listener.served).toEqual([]);
  });

  it('reports a flood of strangers in two lines, and each of them to the audit log', async () => {
    listener = await scratchListener();
    const strangers = 25;
    const before = listener.log.lines.length;
    for (let count = 0; count < strangers; count += 1) await sClient(listener.port, []);
    listener.refusals.stop();
    expect(listener.log.lines.slice(before)).toEqual([
      expect.stringMatching(/^a client is refused .*"reason":"no client certificate"/),
      expect.stringMatching(/^more clients are refused .*"reason":"no client certificate","count":24/),
    ]);
    expect(listener.audited.length).toBe(strangers);
  });
});
