import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { closestName, quotedName } from '../../src/config/closest-name.ts';

const names = ['keyReference', 'requestID', 'parameters', 'inputDocuments', 'ID', 'reason'];

describe('the closest name', () => {
  it.each([
    ['KEYREFERENCE', 'keyReference'],
    ['keyReferences', 'keyReference'],
    ['keyRefrence', 'keyReference'],
    ['paramters', 'parameters'],
    ['inputDocument', 'inputDocuments'],
    ['id', 'ID'],
    ['raeson', 'reason'],
    ['season', 'reason'],
    ['it', undefined],
    ['subject', undefined],
    ['', undefined],
  ])('of %j is %j', (written, meant) => {
    expect(closestName(written, names)).toBe(meant);
  });

  it('is the name itself where it is known, and otherwise one of the known, at once', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ minLength: 1, maxLength: 64 }), { minLength: 1 }), fc.nat(), (known, index) => {
        const name = known[index % known.length] ?? '';
        expect(closestName(name, known)?.toLowerCase()).toBe(name.toLowerCase());
      }),
    );
    fc.assert(
      fc.property(fc.string({ maxLength: 200 }), (name) => {
        expect([undefined, ...names]).toContain(closestName(name, names));
      }),
    );
    expect(closestName('x'.repeat(1_000_000), names)).toBeUndefined();
  });
});

it('a quoted name is short and printable', () => {
  expect(quotedName('a"b\u0000\u202e😀')).toBe('"a\\"b\\u0000\\u202e\\ud83d\\ude00"');
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (name) => {
      const quoted = quotedName(name);
      expect(quoted).toMatch(/^"[\x20-\x7e]*"$/);
      expect(JSON.parse(quoted)).toBe(name.length <= 64 ? name : `${name.slice(0, 64)}…`);
    }),
  );
});
