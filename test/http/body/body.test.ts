import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readBody } from '../../../src/http/body/body.ts';
import { freeMemory } from '../../../src/http/body/free-memory.ts';

const maxBytes = 1_000_000;

interface Received {
  readonly bytes: Buffer;
  readonly reserved: number;
  /** The chunks as Node gave them, after the body was read. */
  readonly chunks: readonly Buffer[];
}

let server: Server;
let received = Promise.withResolvers<Received>();

async function receive(request: IncomingMessage): Promise<Received> {
  let reserved = 0;
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  const ticket = { belongsTo: () => undefined, reserve: (bytes: number) => void (reserved += bytes), release: () => undefined };
  const body = await readBody(request, maxBytes, ticket);
  const whole = Buffer.isBuffer(body) ? body : Buffer.concat(body.pieces.map((piece) => Buffer.from(piece))).subarray(0, body.length);
  return { bytes: whole, reserved, chunks };
}

beforeAll(async () => {
  server = createServer((request, response) => {
    receive(request).then(received.resolve, received.reject);
    received.promise.finally(() => response.end()).catch(() => undefined);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(async () => {
  server.close();
  await once(server, 'close');
});

/** Sends a body in the given parts, each in a packet of its own, as one piece or in chunks. */
async function sent(parts: readonly Buffer[], framing: 'length' | 'chunked'): Promise<Received> {
  received = Promise.withResolvers();
  const socket = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', noDelay: true });
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const field = framing === 'length' ? `Content-Length: ${length}` : 'Transfer-Encoding: chunked';
  const write = async (bytes: Buffer | string): Promise<void> => new Promise((resolve) => socket.write(bytes, () => setImmediate(resolve)));
  await write(`POST / HTTP/1.1\r\nHost: x\r\n${field}\r\nConnection: close\r\n\r\n`);
  for (const part of parts.filter(({ length: bytes }) => bytes > 0)) {
    await write(framing === 'length' ? part : Buffer.concat([Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n')]));
  }
  if (framing === 'chunked') await write('0\r\n\r\n');
  try {
    return await received.promise;
  } finally {
    socket.destroy();
  }
}

describe('a body', () => {
  it('is read whole however it is sent, and its memory is reserved', async () => {
    const size = fc.oneof(fc.nat(2000), fc.nat(70_000), fc.nat(200_000));
    await fc.assert(
      fc.asyncProperty(fc.array(size, { maxLength: 4 }), fc.constantFrom('length', 'chunked'), async (sizes, framing) => {
        const parts = sizes.map((bytes) => randomBytes(bytes));
        const whole = Buffer.concat(parts);
        const { bytes, reserved } = await sent(parts, framing);
        expect(bytes.equals(whole)).toBe(true);
        expect(reserved).toBeGreaterThanOrEqual(whole.length);
        if (framing === 'length') expect(reserved).toBe(whole.length);
      }),
      { numRuns: 50 },
    );
  });

  it('in tiny chunks takes no more memory than its bytes', async () => {
    const parts = Array.from({ length: 500 }, (_, at) => Buffer.of(at % 256));
    const { bytes, chunks } = await sent(parts, 'chunked');
    expect(bytes).toEqual(Buffer.concat(parts));
    expect(chunks.filter(({ length }) => length > 0)).toEqual([]);
  });

  it('of a known length frees each chunk that it has copied, and keeps one that is all of it', async () => {
    const parts = [randomBytes(20_000), randomBytes(100_000)];
    const { bytes, chunks } = await sent(parts, 'length');
    expect(bytes.equals(Buffer.concat(parts))).toBe(true);
    expect(chunks.length).toBeGreaterThan(1);
    expect(chunks.map(({ length }) => length)).toEqual(chunks.map(() => 0));
    const single = await sent([randomBytes(1000)], 'length');
    expect(single.chunks[0]).toBe(single.bytes);
  });
});

describe('memory that is freed', () => {
  it('is empty afterwards, unless it is a part of other memory', () => {
    const own = Buffer.allocUnsafeSlow(100);
    freeMemory(own);
    expect(own.length).toBe(0);
    const around = Buffer.alloc(100, 1);
    freeMemory(around.subarray(10, 20));
    expect(around).toEqual(Buffer.alloc(100, 1));
    const shared = Buffer.from(new SharedArrayBuffer(100));
    freeMemory(shared);
    expect(shared.length).toBe(100);
  });
});
