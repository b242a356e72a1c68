import { describe, expect, it } from 'vitest';
import { LongAnswer } from '../../src/documents/long-answer.ts';
import { bytesOf, formIn } from '../../src/idempotency/answer-bytes.ts';
import { answerOf, areSame, formOf, type AnswerForm } from '../../src/idempotency/answer-form.ts';

const long = 'é'.repeat(1024);
const bytes = new LongAnswer(new Uint8Array(Buffer.from('QUJD')));
const whole = (form: AnswerForm): Buffer => Buffer.concat(bytesOf(form));
/** The bytes cut into pieces of one size, with an empty one before each. */
const inPieces = (all: Buffer, size: number): Buffer[] =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, index) => [
    Buffer.alloc(0),
    all.subarray(index * size, (index + 1) * size),
  ]).flat();

describe('the form of an answer', () => {
  it('has texts of 1,024 characters and bytes beside the JSON, each once, and shorter ones in it', () => {
    const short = 'x'.repeat(1023);
    const answer = { short, first: long, list: [long, { bytes }, bytes, null, 1, true], other: 'x'.repeat(1024) };
    const { value, places, texts } = formOf(answer);
    expect(value).toEqual([{ short, first: null, list: [null, { bytes: null }, null, null, 1, true], other: null }]);
    expect(places).toEqual([
      { path: [0, 'first'], text: 0 },
      { path: [0, 'list', 0], text: 0 },
      { path: [0, 'list', 1, 'bytes'], text: 1 },
      { path: [0, 'list', 2], text: 1 },
      { path: [0, 'other'], text: 2 },
    ]);
    expect(texts).toEqual([long, bytes, 'x'.repeat(1024)]);
    expect(answerOf(formOf(answer))).toEqual(answer);
  });

  it('may be that of a single text, or of nothing', () => {
    for (const answer of [long, 'short', null, {}, []]) expect(answerOf(formOf(answer))).toEqual(answer);
    const [only] = formOf(bytes).texts;
    expect(only).toBe(bytes);
  });

  it('without the place of a text is an error', () => {
    for (const path of [[], [0, 'a', 'b'], [0, 'text', 'of']])
      expect(() => answerOf({ value: [{ text: 'no object' }], places: [{ path, text: 0 }], texts: ['x'] })).toThrow('does not exist');
    expect(answerOf({ value: 'no list', places: [], texts: [] })).toBeUndefined();
  });

  it('is the same as another with the same JSON, places and texts, where bytes are the same memory', () => {
    const same = (one: unknown, other: unknown): boolean => areSame(formOf(one), formOf(other));
    expect(same({ a: 1, b: long, c: bytes }, { a: 1, b: long, c: bytes })).toBe(true);
    expect(same({ c: bytes }, { c: new LongAnswer(bytes.bytes) })).toBe(true);
    expect(same({ c: bytes }, { c: new LongAnswer(Buffer.from(bytes.bytes)) })).toBe(false);
    expect(same({ a: 1 }, { a: 2 })).toBe(false);
    expect(same({ b: long }, { b: `${long}x` })).toBe(false);
    expect(same({ b: long }, { c: long })).toBe(false);
    expect(same([long, null], [null, long])).toBe(false);
    expect(same([long], [long, `${long}x`])).toBe(false);
    expect(same([long, `${long}x`], [long])).toBe(false);
    expect(same([null], [long])).toBe(false);
  });
});

describe('the bytes of an answer', () => {
  const answer = { text: long, list: [bytes, 'short'], empty: new LongAnswer(new Uint8Array()) };
  const form = formOf(answer);

  it('are read as they were written, however they are cut', async () => {
    for (const size of [1, 3, 7, 100, 5000]) {
      const read = await formIn(inPieces(whole(form), size));
      expect(read).toEqual(form);
      expect(answerOf(read)).toEqual(answer);
    }
    await expect(formIn([whole(formOf(null))])).resolves.toEqual(formOf(null));
  });

  it('begin with the length of the JSON, and do not copy long texts', () => {
    const pieces = bytesOf(form);
    expect(Buffer.from(pieces[0] ?? []).readUInt32BE()).toBe(pieces[1]?.length);
    expect(pieces[3]).toBe(bytes.bytes);
  });

  it('that are too few or too many are an error', async () => {
    const all = whole(form);
    for (const length of [0, 3, 4, 20, all.length - 1]) await expect(formIn([all.subarray(0, length)])).rejects.toThrow('truncated');
    await expect(formIn([all, Buffer.of(1)])).rejects.toThrow('longer than its head says');
    await expect(formIn([Buffer.concat([all, Buffer.of(1)])])).rejects.toThrow('longer than its head says');
  });
});
