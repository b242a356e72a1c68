import type { FileHandle } from 'node:fs/promises';
import type { InputDocument } from '../../documents/document.ts';
import type { Content } from '../../documents/content.ts';
import { Refusal } from '../../result-codes.ts';
import { MissingPart, SealedParts } from '../../sealed-parts/sealed-parts.ts';
import type { StateStore } from '../../state/state-store.ts';
import { scratchFile } from './scratch-file.ts';
import type { SessionSecrets } from './session-secrets.ts';
import { sessionState, type SessionState } from './session-state.ts';

/** Content up to here is in memory while a session is completed, all its documents together; what is beyond it is in files. */
const memoryMaxBytes = 1 << 20;

/** A session that is being completed. */
export class OpenSession {
  readonly id: string;
  readonly state: SessionState;
  readonly #parts: SealedParts;
  readonly #scratchDirectory: string;
  readonly #files: FileHandle[] = [];

  private constructor(id: string, parts: SealedParts, state: SessionState, scratchDirectory: string) {
    this.id = id;
    this.state = state;
    this.#parts = parts;
    this.#scratchDirectory = scratchDirectory;
  }

  /** @throws {Refusal} SESSION_UNKNOWN */
  static async find(store: StateStore, { id, cipher }: SessionSecrets, scratchDirectory: string): Promise<OpenSession> {
    const row = await store.run('findSession', { id, now: Date.now() });
    if (row === undefined) throw new Refusal('SESSION_UNKNOWN');
    const parts = new SealedParts(store, { kind: 'session', id }, cipher);
    const text = await unlessGone(joined(parts.open(0)));
    return new OpenSession(id, parts, sessionState(text.toString('utf8')), scratchDirectory);
  }

  /** The documents that completing needs again; good until `release`. @throws {Refusal} SESSION_UNKNOWN where the session ended meanwhile */
  async documents(): Promise<(InputDocument | undefined)[]> {
    const documents: (InputDocument | undefined)[] = [];
    let inMemory = 0;
    for (const [index, { id, fileName, contentBytes }] of this.state.documents.entries()) {
      if (contentBytes === undefined) {
        documents.push(undefined);
        continue;
      }
      inMemory += contentBytes;
      const content = await unlessGone(this.#content(index + 1, contentBytes, inMemory <= memoryMaxBytes));
      documents.push({ id, fileName, source: { content } });
    }
    return documents;
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
