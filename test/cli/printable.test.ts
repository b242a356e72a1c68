import { assert, jsonValue, property, string } from 'fast-check';
import { expect, it } from 'vitest';
import { printable, printableJson } from '../../src/cli/printable.ts';

const dangerous = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

it('leaves nothing that a terminal acts on, whatever the text', () => {
  assert(
    property(string({ unit: 'binary' }), (text) => {
      expect(printable(text)).not.toMatch(dangerous);
    }),
  );
});

it('writes different texts differently', () => {
  assert(
    property(string({ unit: 'binary' }), string({ unit: 'binary' }), (left, right) => {
      expect(printable(left) === printable(right)).toBe(left === right);
    }),
  );
});

it('leaves ordinary text in any script as it is', () => {
  for (const text of ['signetd', 'Schlüssel № 1', 'ключ', '鍵 1']) expect(printable(text)).toBe(text);
});

it('prints JSON that reads back as what it was', () => {
  assert(
    property(jsonValue({ stringUnit: 'binary' }), (value) => {
      const text = printableJson(value);
      expect(text.replaceAll('\n', '')).not.toMatch(dangerous);
      expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
    }),
  );
});
