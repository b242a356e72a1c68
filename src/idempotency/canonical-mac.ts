import { createHmac, type Hmac } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LongText } from '../documents/long-text.ts';

/** What goes to the hash between two looks at the event loop, and in one piece of a long string; in characters. */
const turnCharacters = 1 << 20;
const pieceCharacters = 1 << 16;

/** The members of an object or the elements of a list, and how many of them are done. */
interface Frame {
  readonly names: readonly string[] | undefined;
  readonly values: readonly unknown[];
  next: number;
}

/**
 * HMAC-SHA512 of a JSON value, whatever the order of its members and however it was written. Each value is told with its kind and length, so that
 * two different values never give the same bytes. Long values let the event loop turn.
 */
export async function canonicalMac(key: Uint8Array, value: unknown): Promise<Buffer> {
  const mac = createHmac('sha512', key);
  const writer = new Writer(mac);
  const frames: Frame[] = [];
  const enter = (one: unknown): void => {
    if (typeof one === 'string') writer.text(one);
    // The same text is the same request, whether it came in a big body or in a small one.
    else if (one instanceof LongText) writer.text(one.toText());
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
    if (writer.isDue) await writer.turn();
  }
  await writer.turn();
  return mac.digest();
}

/** Collects short pieces, since each call of the hash costs more than they do, and long strings, to be hashed in several turns. */
class Writer {
  readonly #mac: Hmac;
  #pieces: string[] = [];
  #characters = 0;

  constructor(mac: Hmac) {
    this.#mac = mac;
  }

  get isDue(): boolean {
    return this.#characters >= turnCharacters || this.#pieces.length >= pieceCharacters;
  }

  write(piece: string): void {
    this.#pieces.push(piece);
    this.#characters += piece.length;
  }

  text(value: string): void {
    this.write(`"${value.length}:`);
    this.write(value);
  }

  /** Hashes what was collected. */
  async turn(): Promise<void> {
    let since = 0;
    let short = '';
    for (const piece of this.#pieces) {
      short += piece;
      if (short.length < pieceCharacters) continue;
      for (let start = 0; start < short.length;) {
        const end = endOfPiece(short, start + pieceCharacters);
        this.#mac.update(short.slice(start, end), 'utf8');
        since += end - start;
        start = end;
        if (since < turnCharacters) continue;
        await nextTurn();
        since = 0;
      }
      short = '';
    }
    this.#mac.update(short, 'utf8');
    if (this.isDue) await nextTurn();
    this.#pieces = [];
    this.#characters = 0;
  }
}

/** Never between the two halves of a character. */
function endOfPiece(text: string, end: number): number {
  const unit = text.charCodeAt(end - 1);
  return unit >= 0xd800 && unit <= 0xdbff ? end + 1 : end;
}
