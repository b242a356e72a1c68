import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { daemonWithLimits, type LimitedDaemon } from '../../support/limited-daemon.ts';
import { RawConnection } from '../../support/raw-connection.ts';

const mebibyte = 1024 * 1024;
const path = '/sign/pki/checkKey';
const type = 'Content-Type: application/json';
const head = (...lines: string[]): string => `${[`POST ${path} HTTP/1.1`, 'Host: localhost', type, ...lines].join('\r\n')}\r\n\r\n`;
const small = `${head('Content-Length: 2')}{}`;
const kept: RawConnection[] = [];
let daemon: LimitedDaemon;

beforeAll(async () => {
  daemon = await daemonWithLimits({
    jsonBodyMaxBytes: 4 * mebibyte,
    bodiesMaxBytesPerClient: 6 * mebibyte,
    bodiesMaxBytes: 8 * mebibyte,
    requestsMax: 12,
    requestsMaxPerClient: 8,
    requestsPerSecond: 5,
    requestsBurst: 20,
    connectionsMax: 40,
    handshakeTimeoutSeconds: 5,
    headersTimeoutSeconds: 1,
    requestTimeoutSeconds: 10,
    keepAliveTimeoutSeconds: 1,
  });
});
afterAll(async () => {
  await daemon.remove();
});

async function open(client = 'app'): Promise<RawConnection> {
  const connection = await RawConnection.open(daemon.peer(client));
  kept.push(connection);
  return connection;
}

/** The last status that came on a connection that the service closes. */
async function lastStatus(connection: RawConnection): Promise<number | undefined> {
  await connection.closed();
  return connection.statuses.at(-1);
}

/** A request whose body stays away after its first bytes. */
async function unfinished(client: string, bytes: number): Promise<RawConnection> {
  const connection = await open(client);
  connection.write(`${head(`Content-Length: ${bytes}`)}{`);
  return connection;
}

describe('a slow client', () => {
  it('gets 408 for a head that never ends, byte by byte', async () => {
    const connection = await open();
    const timer = setInterval(() => {
      connection.write('x');
    }, 50);
    connection.write(`POST ${path} HTTP/1.1\r\nX: `);
    expect(await lastStatus(connection)).toBe(408);
    clearInterval(timer);
  });

  it('gets 408 for a body that never ends, announced or in chunks', async () => {
    for (const framing of ['Content-Length: 100', 'Transfer-Encoding: chunked']) {
      const connection = await open('other');
      connection.write(head(framing) + (framing.includes('chunked') ? '1\r\n{\r\n' : '{'));
      expect(await lastStatus(connection)).toBe(408);
      expect(connection.received).toContain('the request took too long to arrive');
      expect(connection.statuses).toHaveLength(1);
    }
  });

  it('loses an idle connection, and one that does not finish its handshake', async () => {
    const resting = await open();
    resting.write(small);
    await resting.closed();
    expect(resting.statuses).toEqual([200]);
    const { hostname, port } = new URL(daemon.baseUrl);
    const silent = Array.from({ length: 6 }, () => connect(Number(port), hostname));
    // A good client is served beside those that say nothing.
    const good = await open();
    good.write(small);
    await good.until('"result"');
    await Promise.all(silent.map(async (socket) => socket.destroyed || once(socket.on('error', () => undefined).resume(), 'close')));
    good.close();
  });
});

describe('a client that uses too much', () => {
  it('gets 429 with Retry-After beyond its rate, until it may send again; others are served', async () => {
    const connection = await open('p384');
    const statuses: (number | undefined)[] = [];
    while (statuses.length < 200 && statuses.at(-1) !== 429) statuses.push(await connection.ask(small));
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(20);
    expect(connection.received).toMatch(/^retry-after: 1\r$/im);
    const other = await open('other');
    expect(await other.ask(small)).toBe(200);
    other.close();
    // Retry-After is true: a token has grown by then.
    await expect.poll(async () => connection.ask(small), { timeout: 10_000, interval: 1000 }).toBe(200);
    connection.close();
  });

  it('gets 429 beyond its limit of body bytes, and all get 503 beyond the common limit', async () => {
    const first = await unfinished('app', 4 * mebibyte);
    const second = await unfinished('app', 4 * mebibyte);
    expect(await lastStatus(second)).toBe(429);
    expect(second.received).toMatch(/^retry-after: 1\r$/im);
    const third = await unfinished('other', 4 * mebibyte);
    // Its rate may have been used up, by the test before.
    await expect.poll(async () => lastStatus(await unfinished('p384', mebibyte))).toBe(503);
    first.close();
    third.close();
    // The memory is free again at once.
    const body = `{"requestID":"${'x'.repeat(3 * mebibyte)}"}`;
    // A refusal may end the connection, so each attempt has its own.
    const asked = async (): Promise<number | undefined> => {
      const fifth = await open('app');
      const status = await fifth.ask(head(`Content-Length: ${body.length}`) + body);
      fifth.close();
      return status;
    };
    await expect.poll(asked, { timeout: 60_000 }).toBe(200);
  });

  it('gets 429 beyond its limit of concurrent requests, and all get 503 beyond the common limit', async () => {
    const bodies = await Promise.all(Array.from({ length: 8 }, async () => unfinished('app', 100)));
    const ninth = await unfinished('app', 100);
    await ninth.until('429');
    expect(ninth.statuses).toEqual([429]);
    const others = await Promise.all(Array.from({ length: 4 }, async () => unfinished('other', 100)));
    const late = await open('p384');
    late.write(small);
    await late.until('503');
    expect(late.statuses).toEqual([503]);
    for (const connection of [...bodies, ...others, ninth, late]) connection.close();
  });

  it('has its further connections closed', async () => {
    for (const connection of kept) connection.close();
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, async () =>
        RawConnection.open(daemon.peer('app')).then(
          (connection) => connection,
          () => undefined,
        ),
      ),
    );
    const opened = outcomes.filter((connection) => connection !== undefined);
    // One that is not admitted yet may lose its place to a later one, after the client's end of the handshake.
    const staying = (): number => opened.filter(({ isClosed }) => !isClosed).length;
    await expect.poll(staying, { timeout: 10_000 }).toBeLessThanOrEqual(40);
    expect(staying()).toBeGreaterThan(0);
    for (const connection of opened) connection.close();
  });
});
