import type { IncomingMessage } from 'node:http';
import type { Ticket } from '../limits/request-quota.ts';
import type { SharedBody } from '../json/big-json.ts';
import { bigContentBytes } from '../../documents/big-content.ts';
import { sharedMemory } from '../../service/shared-memory.ts';
import { freeMemory } from './free-memory.ts';
import { announcedLength, bodyTooLarge, receiveBody, refuseContentEncoding } from './incoming-body.ts';
import { jsonMediaTypeFault } from '../json/json-media-type.ts';
import { Problem } from '../problem.ts';

/** Size of the pieces in which a body of unknown length is stored. */
const pieceBytes = 1024 * 1024;

/**
 * Checks Content-Encoding, media type and size, in this order (contract §2).
 * @throws {Problem} 415, 413; 400 for two media types
 */
export function checkBodyHeaders(request: IncomingMessage, maxBytes: number): void {
  refuseContentEncoding(request, 'body');
  if ((request.headersDistinct['content-type'] ?? []).length > 1) {
    throw new Problem(400, 'duplicate header: Content-Type', { headers: { Connection: 'close' } });
  }
  const fault = jsonMediaTypeFault(request.headers['content-type'] ?? '');
  if (fault !== undefined) throw new Problem(415, fault);
  if (announcedLength(request) > maxBytes) throw bodyTooLarge(maxBytes);
}

/**
 * Returns the bytes of the body; a large one is in memory that threads share.
 * @throws {Problem} 413 as soon as the body exceeds the limit; 400 if it is incomplete or
 *   malformed; 408 if it takes too long; 429 and 503 if there is no memory for it
 */
export async function readBody(request: IncomingMessage, maxBytes: number, ticket: Ticket): Promise<Buffer | SharedBody> {
  const announced = announcedLength(request);
  const body = collectorFor(announced, ticket);
  return new Promise((resolve, reject) => {
    receiveBody(
      request,
      { maxBytes, tooLarge: bodyTooLarge },
      {
        add: (chunk) => {
          body.add(chunk);
        },
        end: () => {
          resolve(body.whole());
        },
        fail: reject,
      },
    );
  });
}

interface Collector {
  /** @throws {Problem} 429, 503 */
  add(chunk: Buffer): void;
  whole(): Buffer | SharedBody;
}

function collectorFor(announced: number, ticket: Ticket): Collector {
  if (announced === 0) return new UnknownLength(ticket);
  return announced > bigContentBytes ? new BigBody(announced, ticket) : new SmallBody(announced, ticket);
}

/** Each chunk goes to its place and is freed. A body in one chunk stays as it came. */
class SmallBody implements Collector {
  readonly #announced: number;
  #memory: Buffer | undefined;
  #length = 0;

  constructor(announced: number, ticket: Ticket) {
    ticket.reserve(announced);
    this.#announced = announced;
  }

  add(chunk: Buffer): void {
    const { length } = chunk;
    const isWhole = this.#length === 0 && length === this.#announced;
    this.#memory ??= isWhole ? chunk : Buffer.allocUnsafeSlow(this.#announced);
    if (!isWhole) {
      this.#memory.set(chunk, this.#length);
      freeMemory(chunk);
    }
    this.#length += length;
  }

  /** Never more than what was received: the memory had other content before. */
  whole(): Buffer {
    if (this.#memory === undefined) return Buffer.alloc(0);
    return this.#length === this.#memory.length ? this.#memory : this.#memory.subarray(0, this.#length);
  }
}

class BigBody implements Collector {
  readonly #memory: Buffer<SharedArrayBuffer>;
  #length = 0;

  constructor(length: number, ticket: Ticket) {
    ticket.reserve(length);
    this.#memory = Buffer.from(sharedMemory(length));
  }

  add(chunk: Buffer): void {
    this.#memory.set(chunk, this.#length);
    this.#length += chunk.length;
    freeMemory(chunk);
  }

  whole(): SharedBody {
    return { pieces: [this.#memory.buffer], length: this.#length };
  }
}

/**
 * Sent in chunks: the first stays as it came unless another one follows, the others are copied, since
 * the memory of a chunk is hundreds of octets more than its content.
 */
class UnknownLength implements Collector {
  readonly #ticket: Ticket;
  #first: Buffer | undefined;
  #small: Buffer | undefined;
  readonly #pieces: Buffer<SharedArrayBuffer>[] = [];
  #length = 0;
  #reserved = 0;

  constructor(ticket: Ticket) {
    this.#ticket = ticket;
  }

  add(chunk: Buffer): void {
    while (this.#length + chunk.length > this.#reserved) {
      const more = this.#reserved < bigContentBytes ? bigContentBytes : pieceBytes;
      this.#ticket.reserve(more);
      this.#reserved += more;
    }
    if (this.#length + chunk.length <= bigContentBytes) {
      this.#addSmall(chunk);
      return;
    }
    if (this.#pieces.length === 0) {
      const early = this.#small?.subarray(0, this.#length) ?? this.#first;
      this.#length = 0;
      if (early !== undefined) this.#copy(early);
      this.#small = this.#first = undefined;
    }
    this.#copy(chunk);
    freeMemory(chunk);
  }

  whole(): Buffer | SharedBody {
    if (this.#pieces.length > 0) return { pieces: this.#pieces.map(({ buffer }) => buffer), length: this.#length };
    if (this.#small === undefined) return this.#first ?? Buffer.alloc(0);
    // A copy: the memory behind it is longer.
    return Buffer.concat([this.#small.subarray(0, this.#length)]);
  }

  #addSmall(chunk: Buffer): void {
    if (this.#length === 0) {
      this.#first = chunk;
      this.#length = chunk.length;
      return;
    }
    if (this.#small === undefined) {
      this.#small = Buffer.allocUnsafeSlow(bigContentBytes);
      if (this.#first !== undefined) {
        this.#small.set(this.#first);
        freeMemory(this.#first);
      }
    }
    this.#small.set(chunk, this.#length);
    this.#length += chunk.length;
    freeMemory(chunk);
  }

  #copy(chunk: Buffer): void {
    for (let taken = 0; taken < chunk.length;) {
      const at = this.#length % pieceBytes;
      if (at === 0) this.#pieces.push(Buffer.from(sharedMemory(pieceBytes)));
      const part = chunk.subarray(taken, taken + pieceBytes - at);
      this.#pieces.at(-1)?.set(part, at);
      taken += part.length;
      this.#length += part.length;
    }
  }
}
