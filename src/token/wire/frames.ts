import { WireError } from './fields.ts';

/**
 * Frames of the socket between daemon and token host: length (u32, of what follows), id of the
 * request (u32), code (u8), body. In a request the code is an operation, in an answer a status; an
 * answer's body begins with the microseconds (u32) that the token took.
 */
export interface Frame {
  readonly id: number;
  readonly code: number;
  readonly body: Buffer;
}

export const operations = {
  createKey: 1,
  destroyKey: 2,
  sign: 3,
  verifyProof: 4,
  makeMac: 5,
  random: 6,
  listKeys: 7,
  claimKey: 8,
  checkMacKey: 9,
  makeMacKey: 10,
  accountHeads: 11,
  destroyMacKey: 12,
  findKeys: 13,
  // A whole message for a service key: the host parses it before it signs.
  signAsService: 16,
  // Only for an operator's command.
  assignPurpose: 17,
  // Data zones for the key of a digital identity, with the proof of its password.
  signAsIdentity: 18,
  // Service keys that sign whole messages (provider-messages.ts).
  createMessageKey: 32,
  signMessage: 33,
  verifyMac: 34,
  // Operators' questions, JSON both ways (reports.ts).
  reportSlots: 48,
  reportMechanisms: 49,
  reportInventory: 50,
  reportProbe: 51,
} as const;
export type OperationName = keyof typeof operations;

/**
 * `wrongSecret`: the proof does not verify. `fault`: PKCS#11 returned an error; the body has its
 * code (u32) and a text. `lost`: the same, and the host ends, since only another one can serve.
 * `noSuchKey`: the token does not have the key. `noMacKey`: the token does not have the MAC key.
 * `heldBack`: the key has had too many wrong secrets, and nothing was compared; the body has the end
 * of the hold (milliseconds since the epoch, decimal). `notYet`: the host still reads which keys
 * there are.
 */
export const statuses = {
  ok: 0,
  wrongSecret: 1,
  forbidden: 2,
  fault: 3,
  malformed: 4,
  noSuchKey: 5,
  noMacKey: 6,
  heldBack: 7,
  lost: 8,
  notYet: 9,
} as const;

const headerBytes = 9;
const answerHeaderBytes = headerBytes + 4;
/** Digests, secrets and keys are small; a longer frame is the peer's error. */
export const maxFrameBytes = 1 << 20;
/**
 * Maximum length of a request's body, so that its frame, and an answer that lists it, fit within a
 * frame.
 */
export const maxRequestBytes = maxFrameBytes - 64;
/** A CRL is sent to the host as a whole: 64 MiB hold about 1,500,000 entries. */
const maxLongFrameBytes = 64 << 20;
/** Maximum length of the body of a request to sign such a message. */
export const maxLongRequestBytes = maxLongFrameBytes - 64;

export function encodeFrame(id: number, code: number, body: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(headerBytes + body.length);
  frame.writeUInt32BE(headerBytes - 4 + body.length, 0);
  frame.writeUInt32BE(id, 4);
  frame.writeUInt8(code, 8);
  frame.set(body, headerBytes);
  return frame;
}

/** @param tokenMicroseconds how long the token worked on the request */
export function encodeAnswer(id: number, status: number, tokenMicroseconds: number, body: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(answerHeaderBytes + body.length);
  putU32(frame, 0, answerHeaderBytes - 4 + body.length);
  putU32(frame, 4, id);
  frame[8] = status;
  putU32(frame, headerBytes, Math.min(tokenMicroseconds, 0xffffffff));
  frame.set(body, answerHeaderBytes);
  return frame;
}

/** As `writeUInt32BE`, which takes four times as long in the host, without JIT. */
function putU32(bytes: Buffer, offset: number, value: number): void {
  bytes[offset] = value >>> 24;
  bytes[offset + 1] = value >>> 16;
  bytes[offset + 2] = value >>> 8;
  bytes[offset + 3] = value;
}

/** An answer as the daemon reads it. */
export interface Answer {
  readonly id: number;
  readonly status: number;
  readonly tokenMicroseconds: number;
  readonly body: Buffer;
}

/** @throws {WireError} */
export function answerOf({ id, code, body }: Frame): Answer {
  if (body.length < 4) throw new WireError('an answer lacks its time');
  return { id, status: code, tokenMicroseconds: body.readUInt32BE(0), body: body.subarray(4) };
}

/** Cuts a byte stream into frames, wherever its chunks end. */
export class FrameSplitter {
  readonly #longCode: number | undefined;
  /**
   * The part of a frame received so far. Its chunks are joined once, when the frame is complete.
   */
  #chunks: Buffer[] = [];
  #bytes = 0;
  #wanted = headerBytes;

  /** @param longCode the only code whose frames may be longer (host side) */
  constructor(longCode?: number) {
    this.#longCode = longCode;
  }

  /** @throws {WireError} for an impossible length */
  push(chunk: Buffer): Frame[] {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes < this.#wanted) return [];
    const bytes = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks);
    const frames: Frame[] = [];
    let offset = 0;
    this.#wanted = headerBytes;
    // No frame is shorter than its header.
    while (bytes.length - offset >= headerBytes) {
      const length = bytes.readUInt32BE(offset);
      const max = bytes.readUInt8(offset + 8) === this.#longCode ? maxLongFrameBytes : maxFrameBytes;
      if (length < headerBytes - 4 || length > max) throw new WireError(`a frame of ${length} bytes`);
      const end = offset + 4 + length;
      if (end > bytes.length) {
        this.#wanted = end - offset;
        break;
      }
      frames.push({
        id: bytes.readUInt32BE(offset + 4),
        code: bytes.readUInt8(offset + 8),
        body: bytes.subarray(offset + headerBytes, end),
      });
      offset = end;
    }
    this.#chunks = offset === bytes.length ? [] : [bytes.subarray(offset)];
    this.#bytes = bytes.length - offset;
    return frames;
  }
}
