import { createHash } from 'node:crypto';
import { readSync } from 'node:fs';
import type { HashName } from '../token/signature-algorithm.ts';
import { Fault } from '../faults.ts';
import { deflated, type DeflateLevel } from '../zip/deflate.ts';

/**
 * A file open in this process, which threads read by its descriptor. Whoever opened it must close
 * it.
 */
export interface OpenFile {
  readonly descriptor: number;
  readonly bytes: number;
}

/** Content in memory, or in a file that is read piece by piece. */
export type Content = Uint8Array | OpenFile;

/** A piece of evidence: content as it is, or compressed on delivery. */
export type EvidencePiece = Content | DeflatedContent;

/** Digest of a document or of its content. */
export interface DocumentDigest {
  readonly hash: HashName;
  readonly value: Uint8Array;
}

const pieceBytes = 1024 * 1024;

/** Content that consists of parts of a file. */
export interface FileParts extends OpenFile {
  /**
   * Location of the content in the file, in order, `bytes` in total; absent: from the start of the
   * file.
   */
  readonly ranges?: readonly FileRange[];
}

/** Content of a file as it was signed, which is delivered only if it is unchanged. */
export interface SignedFile extends FileParts {
  /** Digest of the content. */
  readonly digest: DocumentDigest;
}

/** Content delivered as a raw DEFLATE stream (RFC 1951), which is never in memory as a whole. */
export interface DeflatedContent {
  readonly deflated: Uint8Array | SignedFile;
  readonly level: DeflateLevel;
  /** Size of the stream: the content was compressed once to find it. */
  readonly bytes: number;
}

/** Offsets in a file: the first byte, and the one after the last. */
export interface FileRange {
  readonly start: number;
  readonly end: number;
}

export function contentBytes(content: EvidencePiece): number {
  return content instanceof Uint8Array ? content.length : content.bytes;
}

/**
 * Yields content piece by piece. A piece of a file is valid until the next one is requested.
 * Reading a file blocks, so files belong in work threads. A SignedFile is hashed on the way, so the
 * consumer must discard the pieces if this throws.
 * @throws {Fault} CONTENT_CHANGED at the end of a file that has become shorter or no longer has the
 * signed content; never after more bytes than announced
 */
export function* contentPieces(content: EvidencePiece): Generator<Uint8Array, void> {
  if (content instanceof Uint8Array) yield content;
  else if ('deflated' in content) yield* deflatedPieces(content);
  else yield* filePieces(content);
}

function* deflatedPieces({ deflated: content, level, bytes }: DeflatedContent): Generator<Uint8Array, void> {
  let left = bytes;
  for (const piece of deflated(contentPieces(content), level)) {
    left -= piece.length;
    if (left < 0) throw new Fault('CONTENT_CHANGED');
    yield piece;
  }
  if (left > 0) throw new Fault('CONTENT_CHANGED');
}

function* filePieces(content: OpenFile): Generator<Uint8Array, void> {
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
