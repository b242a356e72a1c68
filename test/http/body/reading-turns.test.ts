import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { fragmentedPace } from '../../../src/http/body/fragmented-pace.ts';
import { discardBody, receiveBody } from '../../../src/http/body/incoming-body.ts';
import { ReadingTurns } from '../../../src/http/body/reading-turns.ts';
import { Problem } from '../../../src/http/problem.ts';

const kibibyte = 1024;
const bodies = { connections: 8, bytes: 4 * 1024 * kibibyte };

describe('the turns in which long bodies are read', () => {
  it('are over after 256 KiB, and begin anew with the next turn of the event loop', async () => {
    const turns = new ReadingTurns();
    expect([1, 2, 3, 4].map(() => turns.took(64 * kibibyte))).toEqual([false, false, false, false]);
    expect(turns.took(1)).toBe(true);
    await nextTurn();
    expect(turns.took(256 * kibibyte)).toBe(false);
    expect(turns.took(1)).toBe(true);
  });

  it('go to two bodies at a time, of tenants by turns', async () => {
    const turns = new ReadingTurns();
    const order: string[] = [];
    for (const [tenant, client] of [
      ['a', '1'],
      ['a', '1'],
      ['a', '2'],
      ['a', '1'],
      ['b', '3'],
    ] as const) {
      turns.wait({ tenant, client }, 0, () => order.push(`${tenant}${client}`));
    }
    await nextTurn();
    expect(order).toEqual(['a1', 'b3']);
    await nextTurn();
    expect(order).toEqual(['a1', 'b3', 'a2', 'a1']);
    await nextTurn();
    expect(order).toEqual(['a1', 'b3', 'a2', 'a1', 'a1']);
  });
});

/** Sends large bodies at the same time, from a process of its own, once the service has not read for a while. */
const sender = `
  const [port, connections, bytes] = process.argv.slice(1).map(Number);
  const { connect } = require('node:net');
  for (let one = 0; one < connections; one += 1) {
    const socket = connect(port, '127.0.0.1');
    socket.write('POST / HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\nContent-Length: ' + bytes + '\\r\\n\\r\\n');
    socket.write(Buffer.alloc(bytes));
    socket.resume();
  }
`;

/** Runs while a server hands each request to `receive`. */
async function whileServing(receive: RequestListener, work: (port: number) => Promise<void>): Promise<void> {
  const server = createServer(receive);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    await work((server.address() as AddressInfo).port);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const limit = { maxBytes: bodies.bytes, tooLarge: () => new Problem(413, 'too large') };

/** What the receiver of large bodies did in its busiest turn. */
async function busiestTurn(
  receive: (request: IncomingMessage, count: (octets: number) => void, ended: () => void) => void,
): Promise<number> {
  let ended = 0;
  let ofTurn = 0;
  let most = 0;
  const count = (octets: number): void => void (ofTurn += octets);
  const end = (): void => void (ended += 1);
  const listener: RequestListener = (request) => {
    receive(request, count, end);
  };
  await whileServing(listener, async (port) => {
    const numbers = [port, bodies.connections, bodies.bytes].map(String);
    const child = spawn(process.execPath, ['--disable-sigusr1', '--eval', sender, ...numbers], { stdio: 'inherit' });
    try {
      while (ended < bodies.connections) {
        await nextTurn();
        most = Math.max(most, ofTurn);
        ofTurn = 0;
      }
    } finally {
      child.kill();
    }
  });
  return most;
}

/** Each connection has its beginning, and what Node had buffered. */
const mostInTurn = (256 + bodies.connections * 192) * kibibyte;

it('long bodies hold the event loop no longer, however fast their connections are', async () => {
  const most = await busiestTurn((request, count, ended) => {
    let length = 0;
    const add = (chunk: Buffer): void => {
      length += chunk.length;
      count(chunk.length);
    };
    const end = (): void => {
      if (length === bodies.bytes) ended();
    };
    const fail = (error: Error): void => {
      throw error;
    };
    receiveBody(request, limit, { add, end, fail });
  });
  expect(most).toBeLessThanOrEqual(mostInTurn);
});

it('bodies that nobody wants are read in turns, too', async () => {
  const most = await busiestTurn((request, count, ended) => {
    discardBody(request, count);
    request.on('end', ended);
  });
  expect(most).toBeLessThanOrEqual(mostInTurn);
});

it('of a body in tiny chunks, few are read in a turn', async () => {
  const tinyChunks = 4096;
  let ofTurn = 0;
  let most = 0;
  let buffered = 0;
  const progress = { isOver: false };
  const receive: RequestListener = (request) => {
    const over = (): void => void (progress.isOver = true);
    const add = (): void => {
      ofTurn += 1;
      buffered = Math.max(buffered, request.readableLength);
    };
    receiveBody(request, limit, { add, end: over, fail: over });
  };
  await whileServing(receive, async (port) => {
    const socket = connect(port, '127.0.0.1');
    socket.write('POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
    socket.write(`${'1\r\n \r\n'.repeat(tinyChunks)}0\r\n\r\n`);
    let read = 0;
    while (!progress.isOver) {
      await nextTurn();
      most = Math.max(most, ofTurn);
      read += ofTurn;
      ofTurn = 0;
    }
    expect(read).toBe(tinyChunks);
    socket.destroy();
  });
  expect(most).toBeLessThanOrEqual(2048);
  // What Node reads from a connection at once.
  expect(buffered).toBeLessThanOrEqual(2 * Math.ceil((64 * kibibyte) / '1\r\n \r\n'.length));
});

/** The length of the body that is received, or why it is refused. */
async function received(chunks: readonly string[]): Promise<number | string> {
  const outcome = Promise.withResolvers<number | string>();
  const receive: RequestListener = (request) => {
    let length = 0;
    const add = (chunk: Buffer): void => void (length += chunk.length);
    const end = (): void => {
      outcome.resolve(length);
    };
    const fail = ({ message }: Error): void => {
      outcome.resolve(message);
    };
    receiveBody(request, { ...limit, maxBytes: 64 * 1024 * kibibyte }, { add, end, fail });
  };
  await whileServing(receive, async (port) => {
    const socket = connect(port, '127.0.0.1');
    socket.write('POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
    socket.write(`${chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('')}0\r\n\r\n`);
    await outcome.promise;
    socket.destroy();
  });
  return outcome.promise;
}

it.each<[string, readonly string[], number | string]>([
  ['may come in 4096 small pieces', Array.from({ length: 4096 }, () => 'x'), 4096],
  ['may come in more pieces, of 512 octets each', Array.from({ length: 40_000 }, () => 'x'.repeat(512)), 40_000 * 512],
  ['does not come in more small pieces', Array.from({ length: 100_000 }, () => 'x'), 'the body comes in more than 4096 small pieces'],
])('a body %s', async (_what, chunks, outcome) => {
  expect(await received(chunks)).toBe(outcome);
});

it('the refusal of a body in small pieces waits as its pace says', async () => {
  const waitMs = 100;
  const pace = vi.spyOn(fragmentedPace, 'waitMs').mockReturnValue(waitMs);
  const begunMs = performance.now();
  try {
    await received(Array.from({ length: 5000 }, () => 'x'));
    expect(pace).toHaveBeenCalledOnce();
  } finally {
    pace.mockRestore();
  }
  // A timer may end a fraction of a millisecond early.
  expect(performance.now() - begunMs).toBeGreaterThan(waitMs - 2);
});

it('a body fails whose client has left before anybody reads it', async () => {
  const failed = Promise.withResolvers<Error>();
  const receive: RequestListener = (request) => {
    const end = (): void => {
      failed.reject(new Error('the body was read'));
    };
    request.once('close', () => {
      setImmediate(() => receiveBody(request, limit, { add: () => undefined, end, fail: failed.resolve }));
    });
  };
  await whileServing(receive, async (port) => {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n');
    socket.once('connect', () => socket.destroySoon());
    expect(await failed.promise).toMatchObject({ status: 400, message: 'the body ended early' });
  });
});

it('a body fails whose client leaves before all that it sent is read', async () => {
  const failed = Promise.withResolvers<Error>();
  const receive: RequestListener = (request) => {
    const end = (): void => {
      failed.reject(new Error('the body was read'));
    };
    const flow = receiveBody(request, limit, { add: () => undefined, end, fail: failed.resolve });
    flow.pause();
    request.socket.once('end', () => request.socket.destroy());
  };
  await whileServing(receive, async (port) => {
    connect(port, '127.0.0.1').end('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nbytes');
    expect(await failed.promise).toMatchObject({ status: 400, message: 'the body ended early' });
  });
});
