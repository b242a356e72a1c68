/** Runs in a work thread. */
import type { Content } from './content.ts';
import { contentBytes, contentPieces } from './content-pieces.ts';
import { sharedMemory } from '../service/shared-memory.ts';

/** The base64 of the pieces as one text, in memory that threads share. @throws {Fault} CONTENT_CHANGED */
export function sharedBase64({ pieces }: { readonly pieces: readonly Content[] }): SharedArrayBuffer {
  const bytes = pieces.reduce((total, piece) => total + contentBytes(piece), 0);
  const shared = sharedMemory(Math.ceil(bytes / 3) * 4);
  const text = Buffer.from(shared);
  let at = 0;
  let rest = Buffer.alloc(0);
  for (const piece of pieces) {
    for (const part of contentPieces(piece)) {
      // Three bytes are four characters: what is left of a part begins the next one.
      const joined = rest.length === 0 ? Buffer.from(part.buffer, part.byteOffset, part.length) : Buffer.concat([rest, part]);
      const whole = joined.length - (joined.length % 3);
      at += text.write(joined.toString('base64', 0, whole), at, 'latin1');
      rest = Buffer.from(joined.subarray(whole));
    }
  }
  text.write(rest.toString('base64'), at, 'latin1');
  return shared;
}
