/** Runs in a work thread. */
import { createHash } from 'node:crypto';
import { fsyncSync, writeSync } from 'node:fs';
import type { Content } from './content.ts';
import { contentPieces } from './content-pieces.ts';

export interface WriteTask {
  readonly pieces: readonly Content[];
  /** Of the file that is written, empty so far. */
  readonly descriptor: number;
}

/** What was written and synced; or the code of the file system's error, which errors lose on their way out of a thread. */
export type WriteOutcome = { readonly bytes: number; readonly sha256: Uint8Array } | { readonly code: string; readonly text: string };

/** Writes the pieces into a file, one after the other, and syncs it. @throws {Fault} CONTENT_CHANGED */
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
