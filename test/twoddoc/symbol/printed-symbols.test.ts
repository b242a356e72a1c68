import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { readSymbol, symbolIn } from '../../../src/twoddoc/picture/read-symbol.ts';
import { dataCodewords } from '../../../src/twoddoc/symbol/data-matrix.ts';
import { symbolOf } from '../../../src/twoddoc/symbol/symbol.ts';

/** The printed codes of the specification (ANTS 3.2.6, §16.2) with the sizes of their symbols. */
const printed = z
  .array(z.object({ id: z.string(), code: z.base64().transform((text) => Buffer.from(text, 'base64')), size: z.number() }))
  .parse(JSON.parse(readFileSync(new URL('../data/printed-symbols.json', import.meta.url), 'utf8')));
const folder = new URL('../data/printed-symbols/', import.meta.url);
const pictures = new Map(readdirSync(folder).map((name) => [name.replace('.png', ''), readFileSync(new URL(name, folder))]));
const withPictures = printed.flatMap((one) => {
  const picture = pictures.get(one.id);
  return picture === undefined ? [] : [{ ...one, picture }];
});

/** Larger than it has to be. */
const tooLarge = ['197-080'];
/** They begin in ASCII, although the specification wants C40 (§10.7.1). */
const beginInAscii = ['158-005', '174-035', '178-043', '183-052'];
/** Says 0 for the length of its binary signature, which then reaches to the end of the symbol. */
const withoutLength = ['214-114'];

it('has a picture of most printed codes', () => {
  expect([printed.length, withPictures.length]).toEqual([31, 27]);
});

describe.each(printed)('the printed code $id', ({ id, code, size }) => {
  it('has a symbol of the same size', () => {
    const ours = symbolOf(code).size;
    expect(ours).toBe(tooLarge.includes(id) ? 40 : size);
    expect(symbolOf(code, 'MIXED').size).toBeLessThanOrEqual(ours);
  });
});

describe.each(withPictures)('the picture of the printed code $id', ({ id, code, picture }) => {
  it('is read', () => {
    expect(Buffer.from(readSymbol(picture)).equals(code)).toBe(true);
  });

  it('has the same modules as our symbol, unless it is encoded otherwise', () => {
    const theirs = symbolIn(picture);
    if (beginInAscii.includes(id)) expect(dataCodewords(theirs)[0]).toBe('D'.charCodeAt(0) + 1);
    else if (![...tooLarge, ...withoutLength].includes(id)) expect(Buffer.from(symbolOf(code).modules).equals(theirs.modules)).toBe(true);
  });
});
