import { type FileHandle, open, unlink } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Content } from '../../documents/content.ts';
import { Refusal } from '../../result-codes.ts';
import { MissingPart, SealedParts } from '../../sealed-parts/sealed-parts.ts';
import type { StateStore } from '../../state/state-store.ts';
import type { SessionSecrets } from './session-secrets.ts';
import type { PreparedSignatures } from '../signatures.ts';
import { storedState, type StoredState } from './session-state.ts';

/**
 * Content of a session up to this total size is kept in memory while it is completed; the rest is
 * kept in files.
 */
const memoryMaxBytes = 1 << 20;

/** A session that is being completed. */
export class OpenSession {
  readonly id: string;
  readonly state: StoredState;
  readonly #parts: SealedParts;
  readonly #scratchDirectory: string;
  readonly #files: FileHandle[] = [];

  private constructor(id: string, parts: SealedParts, state: StoredState, scratchDirectory: string) {
    this.id = id;
    this.state = state;
    this.#parts = parts;
    this.#scratchDirectory = scratchDirectory;
  }

  /**
   * Returns undefined if no session has this identifier.
   * @throws {Refusal} SESSION_UNKNOWN if it ends meanwhile
   */
  static async find(store: StateStore, { id, cipher }: SessionSecrets, scratchDirectory: string): Promise<OpenSession | undefined> {
    const row = await store.run('findSession', { id, now: Date.now() });
    if (row === undefined) return undefined;
    const parts = new SealedParts(store, { kind: 'session', id }, cipher);
    const text = await unlessGone(joined(parts.open(0)));
    return new OpenSession(id, parts, storedState(text.toString('utf8')), scratchDirectory);
  }

  /**
   * Returns the signatures with their contents, valid until `release`. `again`: the contents of
   * `documentsToRead`.
   * @throws {Refusal} SESSION_UNKNOWN if the session ended meanwhile
   */
  async signatures(again: readonly Content[] = []): Promise<PreparedSignatures> {
    const { signatures } = this.state;
    const prepared: PreparedSignatures['prepared'][number][] = [];
    const read = again.values();
    let item = 0;
    let inMemory = 0;
    for (const { contentBytes, readAgain, ...signature } of signatures.prepared) {
      const contents: Content[] = [];
      for (const [index, bytes] of contentBytes.entries()) {
        if (readAgain.some(({ content }) => content === index)) {
          contents.push(next(read));
          continue;
        }
        item += 1;
        inMemory += bytes;
        contents.push(await unlessGone(this.#content(item, bytes, inMemory <= memoryMaxBytes)));
      }
      prepared.push({ ...signature, contents });
    }
    return { ...signatures, prepared };
  }

  async release(): Promise<void> {
    for (const file of this.#files.splice(0, Infinity)) await file.close();
  }

  async #content(item: number, bytes: number, isInMemory: boolean): Promise<Content> {
    const parts = this.#parts.open(item);
    if (isInMemory) return joined(parts);
    const file = await scratchFile(this.#scratchDirectory, parts);
    this.#files.push(file);
    return { descriptor: file.fd, bytes };
  }
}

function next(contents: Iterator<Content, undefined>): Content {
  const { value } = contents.next();
  if (value === undefined) throw new Error('a document was not read again');
  return value;
}

async function joined(parts: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const part of parts) all.push(part);
  return Buffer.concat(all);
}

async function unlessGone<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof MissingPart) throw new Refusal('SESSION_UNKNOWN', { cause: error });
    throw error;
  }
}

/**
 * Writes parts to an unlinked file, so that nothing remains after a crash. The caller must close
 * it.
 */
async function scratchFile(directory: string, parts: AsyncIterable<Uint8Array>): Promise<FileHandle> {
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

/** @throws {Refusal} STORE_FULL if writing to the disk fails */
async function orFull<T>(writing: Promise<T>): Promise<T> {
  try {
    return await writing;
  } catch (error) {
    throw new Refusal('STORE_FULL', { message: 'writing to the scratch directory failed; the session stays open', cause: error });
  }
}
