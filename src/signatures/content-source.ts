import { readSync } from 'node:fs';
import { createHash, hash as digestOf } from 'node:crypto';
import type { ByteSource } from '../asn1/byte-source.ts';
import { type Content, contentBytes, type EvidencePiece, type FileRange, type FileParts, contentPieces } from '../documents/content.ts';
import { Fault } from '../faults.ts';
import type { HashName } from '../token/signature-algorithm.ts';

const windowBytes = 128 * 1024;

/**
 * Returns pieces of content as one source. Reading a piece that is a file blocks. `windowAt` throws
 * CONTENT_CHANGED if a file has become shorter, and an Error for a piece that is compressed on
 * delivery, which has no bytes before.
 */
export function contentSource(pieces: readonly EvidencePiece[]): ByteSource {
  const ends: number[] = [];
  for (const piece of pieces) ends.push((ends.at(-1) ?? 0) + contentBytes(piece));
  return {
    bytes: ends.at(-1) ?? 0,
    windowAt(offset) {
      const index = ends.findIndex((end) => offset < end);
      const piece = pieces[index];
      if (piece === undefined) return new Uint8Array();
      const within = offset - (ends[index - 1] ?? 0);
      if (piece instanceof Uint8Array) return piece.subarray(within);
      if ('deflated' in piece) throw new Error('content that is compressed on delivery has no bytes to be read before');
      return fileWindow(piece, within);
    },
  };
}

function fileWindow(file: FileParts, offset: number): Uint8Array {
  const { start, end } = placeIn(file, offset);
  const window = Buffer.allocUnsafe(Math.min(windowBytes, end - start));
  const count = readSync(file.descriptor, window, 0, window.length, start);
  if (count === 0) throw new Fault('CONTENT_CHANGED');
  return window.subarray(0, count);
}

/** Returns the part of the file from a byte of the content to the end of its range. */
function placeIn(file: FileParts, offset: number): FileRange {
  let before = 0;
  for (const { start, end } of file.ranges ?? [{ start: 0, end: file.bytes }]) {
    if (offset < before + end - start) return { start: start + offset - before, end };
    before += end - start;
  }
  throw new RangeError(`no byte ${offset} in a file of ${file.bytes}`);
}

/** Hashes content piece by piece. @throws {Fault} CONTENT_CHANGED */
export function hashContent(hash: HashName, content: Content): Buffer {
  if (content instanceof Uint8Array) return digestOf(hash, content, 'buffer');
  const digest = createHash(hash);
  for (const piece of contentPieces(content)) digest.update(piece);
  return digest.digest();
}

/** Returns content in one piece. @throws {Fault} CONTENT_CHANGED */
export function bytesOf(content: Content): Uint8Array {
  return content instanceof Uint8Array ? content : Buffer.concat(Array.from(contentPieces(content), (piece) => Buffer.from(piece)));
}
