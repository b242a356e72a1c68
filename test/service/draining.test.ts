import { Agent, createServer, request, type RequestListener, type Server } from 'node:http';
import { createConnection, type Socket } from 'node:net';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Draining } from '../../src/service/draining.ts';
import { listen } from '../../src/service/listen.ts';

const limitSeconds = 20;
let server: Server;
let port: number;
let draining: Draining;
let agent: Agent;
/** Answers the requests that are held, in the order in which they came. */
let held: (() => void)[];
let arrived: () => void;

beforeEach(async () => {
  held = [];
  arrived = () => undefined;
  const handler: RequestListener = (incoming, response) => {
    const answer = (): void => {
      response.end(`answer to ${incoming.url}`);
    };
    if (incoming.url === '/held') held.push(answer);
    else answer();
    arrived();
  };
  server = createServer({ keepAliveTimeout: 60_000 }, handler);
  draining = new Draining();
  draining.watch(server);
  await listen(server, { host: '127.0.0.1', port: 0 }, undefined);
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  ({ port } = address);
  agent = new Agent({ keepAlive: true, maxSockets: 1 });
});

afterEach(() => {
  agent.destroy();
  server.closeAllConnections();
  server.close();
});

async function get(path: string): Promise<{ answer: string; connection: string | undefined }> {
  return new Promise((resolve, reject) => {
    const sent = request({ port, path, agent }, (response) => {
      text(response).then((answer) => {
        resolve({ answer, connection: response.headers.connection });
      }, reject);
    });
    sent.on('error', reject);
    sent.end();
  });
}

async function nextArrival(): Promise<void> {
  return new Promise((resolve) => {
    arrived = resolve;
  });
}

/** Waits until nobody listens any more. */
async function untilClosed(): Promise<void> {
  while (server.listening) await delay(5);
}

async function connect(): Promise<Socket> {
  const accepted = once(server, 'connection');
  const socket = createConnection(port, '127.0.0.1');
  await accepted;
  return socket;
}

describe('a stop', () => {
  it('answers what is on its way, and takes that connection down', async () => {
    const came = nextArrival();
    const answer = get('/held');
    await came;
    const end = draining.end(limitSeconds);
    expect([draining.begun, draining.unanswered]).toEqual([true, 1]);
    await untilClosed();
    held[0]?.();
    expect(await answer).toEqual({ answer: 'answer to /held', connection: 'close' });
    expect(await end).toBe(0);
  });

  it('serves the next request of a kept connection as its last', async () => {
    expect(await get('/first')).toEqual({ answer: 'answer to /first', connection: 'keep-alive' });
    const end = draining.end(limitSeconds);
    expect(await get('/next')).toEqual({ answer: 'answer to /next', connection: 'close' });
    expect(await end).toBe(0);
  });

  it('serves whoever connects while kept connections leave', async () => {
    await get('/first');
    const end = draining.end(limitSeconds);
    const socket = await connect();
    socket.write('GET /new HTTP/1.1\r\nHost: x\r\n\r\n');
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 200 OK\r\n(?:.*\r\n)*Connection: close\r\n(?:.*\r\n)*\r\n.*answer to \/new/);
    expect(await end).toBe(0);
  });

  it('serves a connection that was accepted and has sent its request only after nobody listened any more', async () => {
    const socket = await connect();
    const end = draining.end(limitSeconds);
    await untilClosed();
    socket.write('GET /late HTTP/1.1\r\nHost: x\r\n\r\n');
    expect(await text(socket)).toContain('answer to /late');
    expect(await end).toBe(0);
  });

  it('does not wait for connections that say nothing', async () => {
    await get('/first');
    const silent = await connect();
    // Its limit is far beyond that of this test.
    expect(await draining.end(3600)).toBe(0);
    silent.destroy();
  });

  it('cuts off what takes longer than its limit, and says how much that is', async () => {
    const came = nextArrival();
    const answer = get('/held').catch((error: unknown) => (error instanceof Error ? 'cut off' : 'other'));
    await came;
    expect(await draining.end(0.2)).toBe(1);
    server.closeAllConnections();
    expect(await answer).toBe('cut off');
  });

  it('waits for work whose client has hung up, up to its limit', async () => {
    const work = Promise.withResolvers<string>();
    const done = draining.during(async () => work.promise);
    expect(draining.unanswered).toBe(1);
    const end = draining.end(limitSeconds);
    await untilClosed();
    work.resolve('done');
    expect([await done, await end]).toEqual(['done', 0]);
    void draining.during(async () => new Promise<never>(() => undefined));
    expect(await draining.end(0.2)).toBe(1);
  });

  it('is over at once where nobody is connected', async () => {
    const begun = performance.now();
    expect(await draining.end(limitSeconds)).toBe(0);
    expect(performance.now() - begun).toBeLessThan(limitSeconds * 1000);
    expect([draining.refusing, server.listening]).toEqual([true, false]);
  });
});
