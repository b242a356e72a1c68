import { constants, deflateRawSync } from 'node:zlib';

/** 1 is the fastest, 9 the smallest. */
export type DeflateLevel = 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9;

/** Compressed at once. The result depends on this size. */
export const blockBytes = 1 << 20;
/** How far back a stream can refer to itself (RFC 1951 §2). */
const windowBytes = 1 << 15;
/** An empty block with the mark of the last one, in the fixed code (RFC 1951 §3.2.6). */
const lastBlock = Buffer.of(0x03, 0x00);

/**
 * Compresses pieces to one raw DEFLATE stream (RFC 1951), with little memory. Node streams zlib
 * only asynchronously, so each block is compressed by a call of its own that knows the end of the
 * previous block, and ends at a byte. The same content gives the same stream, however it is cut
 * into pieces, with the same version of Node on the same kind of processor.
 */
export function* deflated(pieces: Iterable<Uint8Array>, level: DeflateLevel): Generator<Uint8Array, void> {
  let dictionary: Uint8Array | undefined;
  for (const block of blocksOf(pieces)) {
    const options = { level, finishFlush: constants.Z_SYNC_FLUSH, ...(dictionary === undefined ? {} : { dictionary }) };
    const compressed = deflateRawSync(block, options);
    dictionary = Uint8Array.from(block.subarray(-windowBytes));
    yield compressed;
  }
  yield lastBlock;
}

/** Cuts pieces into equal blocks; the last is shorter. A block is valid until the next one. */
function* blocksOf(pieces: Iterable<Uint8Array>): Generator<Uint8Array, void> {
  let rest: Buffer | undefined;
  let filled = 0;
  for (const piece of pieces) {
    for (let at = 0; at < piece.length;) {
      if (filled === 0 && piece.length - at >= blockBytes) {
        yield piece.subarray(at, at + blockBytes);
        at += blockBytes;
        continue;
      }
      rest ??= Buffer.allocUnsafeSlow(blockBytes);
      const part = piece.subarray(at, at + blockBytes - filled);
      rest.set(part, filled);
      filled += part.length;
      at += part.length;
      if (filled < blockBytes) continue;
      yield rest;
      filled = 0;
    }
  }
  if (rest !== undefined && filled > 0) yield rest.subarray(0, filled);
}
