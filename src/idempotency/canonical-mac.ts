import { createHash, createHmac, type Hmac } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { contentThread, isBig } from '../documents/big-content.ts';
import { digests as digestsHere, type DigestTask } from '../documents/content-thread.ts';
import { LongText } from '../documents/long-text.ts';
import type { WorkThreads } from '../threads/work-threads.ts';

/** Work done between two turns of the event loop: characters, and pieces of text. */
const turnCharacters = 1 << 18;
const turnPieces = 1 << 14;
/** Minimum length of texts that are replaced by their digest, in bytes of UTF-8. */
const digestFromBytes = 1024;

/** The members of an object or the elements of a list, and the number processed. */
interface Frame {
  readonly names: readonly string[] | undefined;
  readonly values: readonly unknown[];
  next: number;
}

/**
 * Returns the HMAC-SHA512 of a JSON value, independent of the order of members and of formatting.
 * Each value is encoded with its kind and length, so that different values never give the same
 * bytes; a long text is encoded as its length and SHA-512. The long texts of large bodies are
 * hashed in threads, and all other work lets the event loop turn.
 */
export async function canonicalMac(key: Uint8Array, value: unknown, threads: WorkThreads): Promise<Buffer> {
  const digests = await digestsOfLongTexts(value, threads);
  const mac = createHmac('sha512', key);
  const writer = new Writer(mac);
  const frames: Frame[] = [];
  const enter = (one: unknown): void => {
    if (typeof one === 'string') writer.text(one);
    else if (one instanceof LongText) writer.longText(one, digests.get(one));
    else if (typeof one !== 'object' || one === null) writer.write(`${String(one)};`);
    else if (Array.isArray(one)) {
      writer.write(`[${one.length}:`);
      frames.push({ names: undefined, values: one, next: 0 });
    } else {
      const members = Object.entries(one).toSorted(([a], [b]) => (a < b ? -1 : 1));
      writer.write(`{${members.length}:`);
      frames.push({ names: members.map(([name]) => name), values: members.map(([, member]) => member as unknown), next: 0 });
    }
  };
  enter(value);
  for (let frame = frames.at(-1); frame !== undefined; frame = frames.at(-1)) {
    if (frame.next === frame.values.length) {
      frames.pop();
      continue;
    }
    const name = frame.names?.[frame.next];
    if (name !== undefined) writer.text(name);
    enter(frame.values[frame.next++]);
    if (writer.isDue) {
      writer.hash();
      await nextTurn();
    }
  }
  writer.hash();
  return mac.digest();
}

/** Collects short pieces, since calling the hash for each would cost more. */
class Writer {
  readonly #mac: Hmac;
  #pieces: string[] = [];
  #characters = 0;

  constructor(mac: Hmac) {
    this.#mac = mac;
  }

  get isDue(): boolean {
    return this.#characters >= turnCharacters || this.#pieces.length >= turnPieces;
  }

  write(piece: string): void {
    this.#pieces.push(piece);
    this.#characters += piece.length;
  }

  text(value: string): void {
    const bytes = Buffer.byteLength(value, 'utf8');
    if (bytes < digestFromBytes) {
      this.write(`"${bytes}:${value}`);
      return;
    }
    this.#digest(bytes, createHash('sha512').update(value, 'utf8').digest());
    this.#characters += value.length;
  }

  /** Writes a long text, with the same result whether it came in a large body or a small one. */
  longText(text: LongText, digest: Uint8Array | undefined): void {
    if (text.textBytes < digestFromBytes) this.text(text.toText());
    else if (digest === undefined) throw new Error('a long text has no digest');
    else this.#digest(text.textBytes, digest);
  }

  /** Hashes the collected pieces. */
  hash(): void {
    this.#mac.update(this.#pieces.join(''), 'utf8');
    this.#pieces = [];
    this.#characters = 0;
  }

  #digest(bytes: number, digest: Uint8Array): void {
    this.write(`'${bytes}:${Buffer.from(digest).toString('hex')};`);
  }
}

/**
 * Returns the SHA-512 of each long text of a value, as it was sent (UTF-8), computed in a work thread
 * if they are big.
 */
async function digestsOfLongTexts(value: unknown, threads: WorkThreads): Promise<ReadonlyMap<LongText, Uint8Array>> {
  const texts = longTextsIn(value);
  if (texts.length === 0) return new Map();
  // One task for all: a request may have thousands of texts.
  const tasks = texts.map(({ kind, bytes }): DigestTask => ({ content: bytes, hash: 'sha512', asBase64: kind === 'base64' }));
  const isForThread = isBig(texts.map(({ bytes }) => bytes));
  const digests = isForThread ? await threads.run<readonly Uint8Array[]>(contentThread.digests, { tasks }) : digestsHere({ tasks });
  return new Map(texts.map((text, index) => [text, digests[index] ?? new Uint8Array()]));
}

function longTextsIn(value: unknown): LongText[] {
  if (value instanceof LongText) return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(longTextsIn);
}
