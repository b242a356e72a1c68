import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { moduleFile } from '../config/module-file.ts';
import type { ThreadFunction, WorkThreads } from '../threads/work-threads.ts';
import { contentBytes, type EvidencePiece } from './content.ts';
import type { WriteOutcome, WriteTask } from './content-thread.ts';
import { LongAnswer } from './long-answer.ts';
import { counted } from '../service/shared-memory.ts';

/** Content from this size on is hashed, written and encoded in a work thread. */
export const bigContentBytes = 256 * 1024;

/**
 * Checks whether content takes too long for the event loop: more than `maxBytes` in total, or not
 * in memory as it is.
 */
export function isBig(contents: readonly EvidencePiece[], maxBytes = bigContentBytes): boolean {
  return (
    contents.some((content) => !(content instanceof Uint8Array)) ||
    contents.reduce((bytes, content) => bytes + contentBytes(content), 0) > maxBytes
  );
}

const module = moduleFile('./content-thread', import.meta.url);

/** The functions of `content-thread.ts`. */
export const contentThread = {
  digests: { module, name: 'digests', lane: 'hashing', whenClientIsGone: 'stops' },
  sharedBase64: { module, name: 'sharedBase64', lane: 'hashing' },
  writePieces: { module, name: 'writePieces', lane: 'hashing' },
} as const satisfies Record<string, ThreadFunction>;

/**
 * Writes the pieces to an open, empty file and syncs it. Returns its size and SHA-256.
 * @throws {Fault} CONTENT_CHANGED if a signed file has changed
 * @throws file system errors
 */
export async function writePieces(
  pieces: readonly EvidencePiece[],
  file: FileHandle,
  threads: WorkThreads,
): Promise<{ bytes: number; sha256: Buffer }> {
  const inMemory = pieces.filter((piece) => piece instanceof Uint8Array);
  if (!isBig(pieces)) {
    const whole = Buffer.concat(inMemory);
    await file.writeFile(whole);
    await file.sync();
    return { bytes: whole.length, sha256: createHash('sha256').update(whole).digest() };
  }
  const task: WriteTask = { pieces, descriptor: file.fd };
  const outcome = await threads.run<WriteOutcome>(contentThread.writePieces, task);
  if ('code' in outcome) throw Object.assign(new Error(outcome.text), { code: outcome.code });
  return { bytes: outcome.bytes, sha256: Buffer.from(outcome.sha256) };
}

/**
 * From here on, to look for characters that JSON escapes and to encode the text again takes longer
 * than to keep it apart.
 */
const longTextCharacters = 16 * 1024;

/** Returns the base64 of pieces that are not big, for an answer. */
export function smallBase64(pieces: readonly EvidencePiece[]): string | LongAnswer {
  const text = Buffer.concat(pieces.filter((piece) => piece instanceof Uint8Array)).toString('base64');
  return text.length < longTextCharacters ? text : new LongAnswer(Buffer.from(text, 'latin1'));
}

/**
 * Returns the base64 of pieces for an answer.
 * @throws {Fault} CONTENT_CHANGED if a signed file has changed
 */
export async function evidenceBase64(pieces: readonly EvidencePiece[], threads: WorkThreads): Promise<string | LongAnswer> {
  if (!isBig(pieces)) return smallBase64(pieces);
  return new LongAnswer(new Uint8Array(counted(await threads.run<SharedArrayBuffer>(contentThread.sharedBase64, { pieces }))));
}
