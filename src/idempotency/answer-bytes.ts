import { z } from 'zod';
import { LongAnswer } from '../documents/long-answer.ts';
import type { AnswerForm } from './answer-form.ts';

const lengthBytes = 4;

const Head = z.object({
  value: z.unknown(),
  places: z.array(z.object({ path: z.array(z.union([z.string(), z.number()])), text: z.int() })),
  texts: z.array(z.object({ bytes: z.int(), isText: z.boolean() })),
});

/**
 * Returns the bytes of a form in order: length of the head (4 bytes, big-endian), head (JSON),
 * texts. Long texts are not copied.
 */
export function bytesOf({ value, places, texts }: AnswerForm): readonly Uint8Array[] {
  const pieces = texts.map((text) => (typeof text === 'string' ? Buffer.from(text, 'utf8') : text.bytes));
  const kinds = texts.map((text, index) => ({ bytes: pieces[index]?.length ?? 0, isText: typeof text === 'string' }));
  const head = Buffer.from(JSON.stringify({ value, places, texts: kinds } satisfies z.input<typeof Head>), 'utf8');
  const length = Buffer.alloc(lengthBytes);
  length.writeUInt32BE(head.length);
  return [length, head, ...pieces];
}

/**
 * Reads a form from the parts that its bytes were cut into.
 * @throws {Error} if they are too few or too many
 */
export async function formIn(parts: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): Promise<AnswerForm> {
  const source = new Source(parts);
  const length = Buffer.from(await source.take(lengthBytes)).readUInt32BE();
  const head = Head.parse(JSON.parse(Buffer.from(await source.take(length)).toString('utf8')));
  const texts: (string | LongAnswer)[] = [];
  for (const { bytes, isText } of head.texts) {
    const text = await source.take(bytes);
    texts.push(isText ? Buffer.from(text.buffer).toString('utf8') : new LongAnswer(text));
  }
  await source.end();
  return { value: head.value, places: head.places, texts };
}

class Source {
  readonly #parts: Iterator<Uint8Array> | AsyncIterator<Uint8Array>;
  #left: Uint8Array = new Uint8Array();

  constructor(parts: Iterable<Uint8Array> | AsyncIterable<Uint8Array>) {
    this.#parts = Symbol.asyncIterator in parts ? parts[Symbol.asyncIterator]() : parts[Symbol.iterator]();
  }

  async take(length: number): Promise<Uint8Array> {
    const taken = new Uint8Array(length);
    for (let filled = 0; filled < length;) {
      if (this.#left.length === 0) this.#left = await this.#next();
      const some = this.#left.subarray(0, length - filled);
      taken.set(some, filled);
      filled += some.length;
      this.#left = this.#left.subarray(some.length);
    }
    return taken;
  }

  async end(): Promise<void> {
    if (this.#left.length > 0 || (await this.#parts.next()).done !== true) throw new Error('a kept answer is longer than its head says');
  }

  async #next(): Promise<Uint8Array> {
    const next = await this.#parts.next();
    if (next.done === true) throw new Error('a kept answer is truncated');
    return next.value;
  }
}
