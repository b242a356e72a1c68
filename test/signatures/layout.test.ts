import { expect, it } from 'vitest';
import { element, piecesOf, type Layout } from '../../src/cms/layout.ts';

const large = (octet: number): Uint8Array => new Uint8Array(64 * 1024).fill(octet);
const small = (...octets: number[]): Uint8Array => Uint8Array.from(octets);
/** First octet and length of each piece. */
const shapes = (layout: Layout): unknown[] =>
  piecesOf(layout).map((piece) => (piece instanceof Uint8Array ? [piece[0], piece.length] : 'elsewhere'));

it('small parts between large ones are one piece, also a single one', () => {
  expect(shapes([])).toEqual([]);
  expect(shapes([small(1)])).toEqual([[1, 1]]);
  expect(shapes([large(1), small(2), large(3)])).toEqual([
    [1, 65_536],
    [2, 1],
    [3, 65_536],
  ]);
  expect(shapes([small(1), [small(2), [small(3)]], large(4), small(5, 6)])).toEqual([
    [1, 3],
    [4, 65_536],
    [5, 2],
  ]);
  expect(shapes([new Uint8Array(65_535), small(1)])).toEqual([[0, 65_536]]);
});

it('an element has the length of all that is in it', () => {
  expect(piecesOf(element(0x30, [small(1, 2), [small(3)]]))).toEqual([Uint8Array.of(0x30, 3, 1, 2, 3)]);
  expect(shapes(element(0x04, [large(9)]))).toEqual([
    [0x04, 5],
    [9, 65_536],
  ]);
});
