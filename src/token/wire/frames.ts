import { WireError } from './fields.ts';

/**
 * Frames of the socket between daemon and token host: length (u32, of what follows), id of the request (u32), code (u8), body.
 * In a request the code is an operation, in an answer a status.
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
  createMessageKey: 32,
  signMessage: 33,
  verifyMac: 34,
} as const;
export type OperationName = keyof typeof operations;

/** `wrongSecret`: the proof does not verify. `fault`: PKCS#11 answered an error; the body has its code (u32) and a text. */
export const statuses = { ok: 0, wrongSecret: 1, forbidden: 2, fault: 3, malformed: 4 } as const;

const headerBytes = 9;
/** Digests, secrets and keys are small; a longer frame is an error of the peer. */
export const maxFrameBytes = 1 << 20;

export function encodeFrame(id: number, code: number, body: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(headerBytes + body.length);
  frame.writeUInt32BE(headerBytes - 4 + body.length, 0);
  frame.writeUInt32BE(id, 4);
  frame.writeUInt8(code, 8);
  frame.set(body, headerBytes);
  return frame;
}

/** Cuts a byte stream into frames, wherever its chunks end. */
export class FrameSplitter {
  #rest: Buffer = Buffer.alloc(0);

  /** @throws {WireError} where a length cannot be. */
  push(chunk: Buffer): Frame[] {
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const frames: Frame[] = [];
    while (bytes.length >= 4) {
      const length = bytes.readUInt32BE(0);
      if (length < headerBytes - 4 || length > maxFrameBytes) throw new WireError(`a frame of ${length} bytes`);
      if (bytes.length < 4 + length) break;
      frames.push({ id: bytes.readUInt32BE(4), code: bytes.readUInt8(8), body: bytes.subarray(headerBytes, 4 + length) });
      bytes = bytes.subarray(4 + length);
    }
    this.#rest = bytes;
    return frames;
  }
}
