import { randomUUID } from 'node:crypto';
import { open, unlink, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { read } from 'node:fs';
import { promisify } from 'node:util';
import type { Content } from '../../documents/content.ts';
import { Fault } from '../../faults.ts';
import { Refusal } from '../../result-codes.ts';
import type { StateStore } from '../../state/state-store.ts';
import type { SessionSecrets } from './session-secrets.ts';

/** What one statement carries: no other commit waits long for it. */
const partBytes = 1 << 20;
const readAt = promisify(read);

/** A part as the state store takes it. */
export interface SealedPart {
  readonly id: string;
  readonly item: number;
  readonly part: number;
  readonly bytes: Uint8Array;
}

/** The parts of an item, encrypted one after the other; an empty one has one part. @throws {Refusal} DOCUMENT_INVALID for a file that has become shorter */
export async function* sealedParts(secrets: SessionSecrets, item: number, content: Content): AsyncGenerator<SealedPart, void> {
  const bytes = content instanceof Uint8Array ? content.length : content.bytes;
  for (let part = 0, start = 0; start < bytes || part === 0; part += 1, start += partBytes) {
    const end = Math.min(bytes, start + partBytes);
    const piece = content instanceof Uint8Array ? content.subarray(start, end) : await pieceOf(content.descriptor, start, end);
    yield { id: secrets.id, item, part, bytes: await secrets.seal({ item, part }, end === bytes, piece) };
  }
}

async function pieceOf(descriptor: number, start: number, end: number): Promise<Uint8Array> {
  const piece = Buffer.allocUnsafe(end - start);
  for (let filled = 0; filled < piece.length;) {
    const { bytesRead } = await readAt(descriptor, piece, filled, piece.length - filled, start + filled);
    if (bytesRead === 0)
      throw new Refusal('DOCUMENT_INVALID', { message: 'a file changed while it was read', cause: new Fault('CONTENT_CHANGED') });
    filled += bytesRead;
  }
  return piece;
}

/** The parts of an item again, decrypted one after the other. @throws {Error} where one is missing: the session has ended meanwhile */
export async function* openedParts(store: StateStore, secrets: SessionSecrets, item: number): AsyncGenerator<Uint8Array, void> {
  for (let part = 0; ; part += 1) {
    const sealed = await store.run('findSessionPart', { id: secrets.id, item, part });
    if (sealed === undefined) throw new MissingPart();
    const { bytes, isLast } = await secrets.open({ item, part }, sealed);
    yield bytes;
    if (isLast) return;
  }
}

/** Parts go when their session has gone. */
export class MissingPart extends Error {
  constructor() {
    super('a part of the session is missing');
    this.name = 'MissingPart';
  }
}

export async function joined(parts: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const part of parts) all.push(part);
  return Buffer.concat(all);
}

/** Writes parts into a file without a name, so that nothing stays of it whatever happens. Who gets it closes it. */
export async function scratchFile(directory: string, parts: AsyncIterable<Uint8Array>): Promise<FileHandle> {
  const path = join(directory, `signetd-${randomUUID()}`);
  const file = await orFull(open(path, 'wx+', 0o600));
  try {
    await orFull(unlink(path));
    for await (const part of parts) await orFull(file.appendFile(part));
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** @throws {Refusal} STORE_FULL where the disk cannot be written */
async function orFull<T>(writing: Promise<T>): Promise<T> {
  try {
    return await writing;
  } catch (error) {
    throw new Refusal('STORE_FULL', { message: 'the scratch directory cannot be written; the session stays open', cause: error });
  }
}
