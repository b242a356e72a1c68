import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { HashName } from '../../../../src/token/signature-algorithm.ts';
import type { CoveredRange } from '../../../../src/signatures/pades/verify/covered-range.ts';
import { RangeDigests, type WantedDigest } from '../../../../src/signatures/pades/verify/range-digests.ts';
import { bytesInMemory } from '../../../../src/asn1/byte-source.ts';

const bytes = Buffer.from(Array.from({ length: 1000 }, (_, index) => (index * 7) % 256));
const range = (start: number, end: number, stop: number): CoveredRange => ({ holder: 1, start, end, stop });
const digestOf = (hash: HashName, { start, end, stop }: CoveredRange): string =>
  createHash(hash).update(bytes.subarray(0, start)).update(bytes.subarray(end, stop)).digest('hex');
const hex = (digest: Uint8Array): string => Buffer.from(digest).toString('hex');

/** Ranges of which any two differ in one number at least, none in order. */
const ranges = [
  range(500, 600, 1000),
  range(100, 200, 1000),
  range(100, 200, 400),
  range(100, 250, 400),
  range(90, 250, 400),
  range(0, 1, 2),
];
const wanted = ranges.flatMap((one): WantedDigest[] => [
  { range: one, hash: 'sha256' },
  { range: one, hash: 'sha1' },
]);

describe('digests of what signatures cover', () => {
  it.each([
    ['that were all announced', wanted, wanted],
    ['that were asked for in another order', wanted, wanted.toReversed()],
    ['of which only some were announced', wanted.slice(0, 3), wanted],
    ['none of which was announced', [], wanted],
  ])('are those of the bytes before and behind the hole, of ranges %s', (_, announced, asked) => {
    const digests = new RangeDigests(bytesInMemory(bytes), announced);
    for (const { range: one, hash } of [...asked, ...asked]) expect(hex(digests.digest(one, hash))).toBe(digestOf(hash, one));
  });

  it('take one pass for each hash, in which what is before the holes is read once', () => {
    const [first, second] = [range(400, 500, 1000), range(800, 900, 1000)];
    const read: number[] = [];
    const source = {
      bytes: bytes.length,
      windowAt(offset: number) {
        read.push(offset);
        return bytes.subarray(offset, offset + 100);
      },
    };
    const digests = new RangeDigests(source, [
      { range: second, hash: 'sha256' },
      { range: first, hash: 'sha256' },
      { range: range(1, 2, 1000), hash: 'sha384' },
    ]);
    const offsets = (): number[] => read.splice(0);
    digests.digest(second, 'sha256');
    // Up to 400, 500 to 1000, 400 to 800, 900 to 1000.
    expect(offsets()).toEqual([0, 100, 200, 300, 500, 600, 700, 800, 900, 400, 500, 600, 700, 900]);
    digests.digest(first, 'sha256');
    expect(offsets()).toEqual([]);
    digests.digest(range(400, 900, 1000), 'sha256');
    expect(offsets()).toEqual([0, 100, 200, 300, 900]);
  });
});
