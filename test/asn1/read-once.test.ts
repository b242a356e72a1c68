import { expect, test } from 'vitest';
import { foundOnce, readOnce } from '../../src/asn1/read-once.ts';

const reader = (entriesMax: number): { read: (bytes: Uint8Array) => { text: string }; readings: () => number } => {
  let readings = 0;
  const read = readOnce(
    (bytes) => {
      readings += 1;
      return { text: Buffer.from(bytes).toString() };
    },
    { entriesMax, entryMaxBytes: 8 },
  );
  return { read, readings: () => readings };
};

test('the same bytes are read once, whoever holds them', () => {
  const { read, readings } = reader(2);
  const first = read(Buffer.from('a'));
  expect(read(Buffer.from('a'))).toBe(first);
  expect(readings()).toBe(1);
});

test('the result is a copy: later changes of the bytes have no effect', () => {
  const { read } = reader(2);
  const bytes = Buffer.from('abc');
  const value = read(bytes);
  bytes.fill(0);
  expect(value.text).toBe('abc');
  expect(read(Buffer.from('abc'))).toBe(value);
});

test('the least recently used entry is dropped first, and long ones are not kept', () => {
  const { read, readings } = reader(2);
  for (const text of ['a', 'b', 'a', 'c', 'a', 'b']) read(Buffer.from(text));
  expect(readings()).toBe(4);
  for (const text of ['123456789', '123456789']) read(Buffer.from(text));
  expect(readings()).toBe(6);
});

test('a property of an object is computed once', () => {
  let findings = 0;
  const find = foundOnce((key: object) => {
    findings += 1;
    return Object.keys(key).length === 0 ? undefined : true;
  });
  const empty = {};
  expect([find(empty), find(empty), find({ a: 1 }), findings]).toEqual([undefined, undefined, true, 2]);
});

test('what cannot be read is not remembered', () => {
  let readings = 0;
  const read = readOnce(
    (): never => {
      readings += 1;
      throw new RangeError('no');
    },
    { entriesMax: 1, entryMaxBytes: 8 },
  );
  for (let round = 0; round < 2; round += 1) expect(() => read(Buffer.from('x'))).toThrow(RangeError);
  expect(readings).toBe(2);
});
