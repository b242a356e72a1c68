import { read } from 'node:fs';
import { promisify } from 'node:util';
import { type Content, type OpenFile, contentBytes } from '../documents/content.ts';
import { Fault, refusalOf } from '../faults.ts';

/**
 * Bytes that are encrypted at once and stored by one statement, so that neither the event loop nor
 * another commit waits long.
 */
export const partBytes = 1 << 20;

const readAt = promisify(read);

export interface PlainPart {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly isLast: boolean;
}

/**
 * Cuts consecutive pieces into parts of equal length; the last is shorter. Empty content is one
 * empty part. Only one part at a time is copied.
 * @throws {Refusal} DOCUMENT_INVALID for a file that has become shorter
 */
export async function* cutIntoParts(pieces: readonly Content[]): AsyncGenerator<PlainPart, void> {
  let left = pieces.reduce((sum, piece) => sum + contentBytes(piece), 0);
  let part = new Uint8Array(Math.min(left, partBytes));
  let filled = 0;
  for (const piece of pieces) {
    for (let offset = 0; offset < contentBytes(piece);) {
      const count = Math.min(contentBytes(piece) - offset, part.length - filled);
      if (piece instanceof Uint8Array) part.set(piece.subarray(offset, offset + count), filled);
      else await readInto(part.subarray(filled, filled + count), piece, offset);
      filled += count;
      offset += count;
      left -= count;
      if (filled < part.length || left === 0) continue;
      yield { bytes: part, isLast: false };
      part = new Uint8Array(Math.min(left, partBytes));
      filled = 0;
    }
  }
  yield { bytes: part, isLast: true };
}

async function readInto(target: Uint8Array, { descriptor }: OpenFile, position: number): Promise<void> {
  for (let filled = 0; filled < target.length;) {
    const { bytesRead } = await readAt(descriptor, target, filled, target.length - filled, position + filled);
    if (bytesRead === 0) throw refusalOf(new Fault('CONTENT_CHANGED'), { message: 'a file changed while it was read' });
    filled += bytesRead;
  }
}
