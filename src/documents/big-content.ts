import { moduleFile } from '../config/module-file.ts';
import type { ThreadFunction } from '../threads/work-threads.ts';
import type { Content } from './content.ts';
import { contentBytes } from './content-pieces.ts';

/** Content from this size on is hashed, written and encoded in a work thread. */
export const bigContentBytes = 256 * 1024;

/** Whether content takes too long for the event loop: more than `maxBytes` in all, or in a file. */
export function isBig(contents: readonly Content[], maxBytes = bigContentBytes): boolean {
  return (
    contents.some((content) => !(content instanceof Uint8Array)) ||
    contents.reduce((bytes, content) => bytes + contentBytes(content), 0) > maxBytes
  );
}

const module = moduleFile('./content-thread', import.meta.url);

/** The functions of `content-thread.ts`. */
export const contentThread = {
  digest: { module, name: 'digest', lane: 'hashing' },
  sharedBase64: { module, name: 'sharedBase64', lane: 'hashing' },
  writePieces: { module, name: 'writePieces', lane: 'hashing' },
} as const satisfies Record<string, ThreadFunction>;
