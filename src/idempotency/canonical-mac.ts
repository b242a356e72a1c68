import { createHash, createHmac, type Hmac } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LongText } from '../documents/long-text.ts';
import type { WorkThreads } from '../threads/work-threads.ts';
import { digestsOfLongTexts } from './long-texts.ts';

/** What goes to the hash between two looks at the event loop: characters, and pieces of text. */
const turnCharacters = 1 << 18;
const turnPieces = 1 << 14;
/** Texts from here on are told by their digest, in bytes of UTF-8. */
const digestFromBytes = 1024;

/** The members of an object or the elements of a list, and how many of them are done. */
interface Frame {
  readonly names: readonly string[] | undefined;
  readonly values: readonly unknown[];
  next: number;
}

/**
 * HMAC-SHA512 of a JSON value, whatever the order of its members and however it was written. Each
 * value is told with its kind and length, so that two different values never give the same bytes; a
 * long text by its length and SHA-512. The long texts of big bodies are hashed in threads, and
 * everything else lets the event loop turn.
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

/** Collects short pieces, since each call of the hash costs more than they do. */
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

  /** The same text is the same request, whether it came in a big body or in a small one. */
  longText(text: LongText, digest: Uint8Array | undefined): void {
    if (text.textBytes < digestFromBytes) this.text(text.toText());
    else if (digest === undefined) throw new Error('a long text without its digest');
    else this.#digest(text.textBytes, digest);
  }

  /** Hashes what was collected. */
  hash(): void {
    this.#mac.update(this.#pieces.join(''), 'utf8');
    this.#pieces = [];
    this.#characters = 0;
  }

  #digest(bytes: number, digest: Uint8Array): void {
    this.write(`'${bytes}:${Buffer.from(digest).toString('hex')};`);
  }
}
