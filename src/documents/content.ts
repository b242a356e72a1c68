import type { HashName } from '../token/signature-algorithm.ts';
import { createHash } from 'node:crypto';
import { readSync } from 'node:fs';
import { Fault } from '../faults.ts';

/** A file that is open in this process: threads of the process read it by its descriptor. Whoever opened it closes it. */
export interface OpenFile {
  readonly descriptor: number;
  readonly bytes: number;
}

/** Content at hand, or in a file that is read piece by piece. */
export type Content = Uint8Array | OpenFile;

/** Digest of a document or of its content. */
export interface DocumentDigest {
  readonly hash: HashName;
  readonly value: Uint8Array;
}

const pieceBytes = 1024 * 1024;

/** Content that is parts of a file. */
export interface FileParts extends OpenFile {
  /** Where in the file the content lies, in order, `bytes` in all; absent: from its start. */
  readonly ranges?: readonly FileRange[];
}

/** Content in a file that was signed with what it held then: it leaves only as long as it holds the same. */
export interface SignedFile extends FileParts {
  /** Of the content. */
  readonly digest: DocumentDigest;
}

/** Offsets in a file: the first byte, and the first one behind. */
export interface FileRange {
  readonly start: number;
  readonly end: number;
}

export function contentBytes(content: Content): number {
  return content instanceof Uint8Array ? content.length : content.bytes;
}

/**
 * The bytes of content, piece by piece. A piece of a file is good until the next one is asked for. It blocks on the disk: files are for work threads. What
 * was signed (SignedFile) is hashed on the way, so whoever takes the pieces must undo what it did with them when this throws.
 * @throws {Fault} CONTENT_CHANGED at the end of a file that is shorter than it was, or holds other content than was signed.
 */
export function* contentPieces(content: Content): Generator<Uint8Array, void> {
  if (content instanceof Uint8Array) {
    yield content;
    return;
  }
  const { ranges = [{ start: 0, end: content.bytes }], digest }: Partial<SignedFile> = content;
  const hash = digest === undefined ? undefined : createHash(digest.hash);
  const buffer = Buffer.allocUnsafeSlow(Math.min(pieceBytes, Math.max(1, content.bytes)));
  for (const { start, end } of ranges) {
    for (let position = start; position < end;) {
      const count = readSync(content.descriptor, buffer, 0, Math.min(buffer.length, end - position), position);
      if (count === 0) throw new Fault('CONTENT_CHANGED');
      const piece = buffer.subarray(0, count);
      hash?.update(piece);
      yield piece;
      position += count;
    }
  }
  if (digest !== undefined && hash?.digest().equals(digest.value) !== true) throw new Fault('CONTENT_CHANGED');
}
