/** Functions for work threads: everything done to each byte of large content. */
import { createHash } from 'node:crypto';
import { fsyncSync, writeSync } from 'node:fs';
import { sharedMemory } from '../service/shared-memory.ts';
import type { HashName } from '../token/signature-algorithm.ts';
import { type Content, contentBytes, contentPieces, type EvidencePiece } from './content.ts';

/** A digest to be computed. */
export interface DigestTask {
  readonly content: Content;
  readonly hash: HashName;
  /** Whether the digest is of the base64 of the content. */
  readonly asBase64?: boolean;
}

/** A multiple of three: the base64 of a slice is a slice of the whole base64. */
const sliceBytes = 3 << 18;

/** Hashes each content. @throws {Fault} CONTENT_CHANGED */
export function digests({ tasks }: { readonly tasks: readonly DigestTask[] }): readonly Uint8Array[] {
  return tasks.map(digest);
}

/** Hashes content. @throws {Fault} CONTENT_CHANGED */
export function digest({ content, hash, asBase64 = false }: DigestTask): Uint8Array {
  const hashing = createHash(hash);
  if (asBase64) for (const text of base64Pieces([content])) hashing.update(text, 'latin1');
  else for (const piece of contentPieces(content)) hashing.update(piece);
  return Uint8Array.from(hashing.digest());
}

/**
 * Returns the base64 of the pieces as one text, in memory that threads share.
 * @throws {Fault} CONTENT_CHANGED
 */
export function sharedBase64({ pieces }: { readonly pieces: readonly EvidencePiece[] }): SharedArrayBuffer {
  const bytes = pieces.reduce((total, piece) => total + contentBytes(piece), 0);
  const shared = sharedMemory(Math.ceil(bytes / 3) * 4);
  const buffer = Buffer.from(shared);
  let at = 0;
  for (const text of base64Pieces(pieces)) at += buffer.write(text, at, 'latin1');
  return shared;
}

function* base64Pieces(pieces: readonly EvidencePiece[]): Generator<string, void> {
  let rest = Buffer.alloc(0);
  for (const content of pieces) {
    for (const piece of contentPieces(content)) {
      for (let start = 0; start < piece.length; start += sliceBytes) {
        const part = Buffer.from(piece.buffer, piece.byteOffset + start, Math.min(sliceBytes, piece.length - start));
        // Three bytes are four characters; the remainder of a part begins the next one.
        const joined = rest.length === 0 ? part : Buffer.concat([rest, part]);
        const whole = joined.length - (joined.length % 3);
        yield joined.toString('base64', 0, whole);
        rest = Buffer.from(joined.subarray(whole));
      }
    }
  }
  yield rest.toString('base64');
}

export interface WriteTask {
  readonly pieces: readonly EvidencePiece[];
  /** Descriptor of the empty file to be written. */
  readonly descriptor: number;
}

/**
 * Result of a synced write, or the code of a file system error, which an error would lose when it
 * leaves a thread.
 */
export type WriteOutcome = { readonly bytes: number; readonly sha256: Uint8Array } | { readonly code: string; readonly text: string };

/** Writes the pieces to a file one after the other and syncs it. @throws {Fault} CONTENT_CHANGED */
export function writePieces({ pieces, descriptor }: WriteTask): WriteOutcome {
  const hash = createHash('sha256');
  let bytes = 0;
  for (const content of pieces) {
    for (const piece of contentPieces(content)) {
      hash.update(piece);
      const fault = faultOf(() => {
        for (let written = 0; written < piece.length;) written += writeSync(descriptor, piece, written, piece.length - written, null);
      });
      if (fault !== undefined) return fault;
      bytes += piece.length;
    }
  }
  return (
    faultOf(() => {
      fsyncSync(descriptor);
    }) ?? { bytes, sha256: hash.digest() }
  );
}

function faultOf(work: () => void): { code: string; text: string } | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && typeof error.code === 'string')) throw error;
    return { code: error.code, text: error.message };
  }
}
