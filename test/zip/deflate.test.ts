import { randomBytes } from 'node:crypto';
import { inflateRawSync } from 'node:zlib';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { blockBytes, deflated, type DeflateLevel } from '../../src/zip/deflate.ts';

const levels: readonly DeflateLevel[] = [1, 2, 3, 4, 5, 6, 7, 8, 9];

/** Text that repeats itself over more than a block. */
const text = Buffer.from(Array.from({ length: 300_000 }, (_, index) => `line ${(index * 7919) % 10_007}\n`).join(''));

describe('a stream', () => {
  it.each(levels)('of level %i is inflated by zlib, across the ends of blocks', (level) => {
    for (const content of [text, randomBytes(blockBytes + 3)])
      expect(inflateRawSync(Buffer.concat([...deflated([content], level)])).equals(content)).toBe(true);
  });

  it.each([0, 1, blockBytes - 1, blockBytes, blockBytes + 1, 2 * blockBytes])('of %i bytes is inflated by zlib', (bytes) => {
    const content = text.subarray(0, bytes);
    expect(inflateRawSync(Buffer.concat([...deflated([content], 6)])).equals(content)).toBe(true);
  });

  it('refers across the end of a block', () => {
    const content = Buffer.concat([randomBytes(blockBytes), Buffer.alloc(0)]);
    const repeated = Buffer.concat([content, content.subarray(-30_000)]);
    const bytes = (of: Uint8Array): number => Buffer.concat([...deflated([of], 6)]).length;
    expect(bytes(repeated) - bytes(content)).toBeLessThan(1000);
  });

  it('is the same however the content is cut, and if its buffer is used again', () => {
    const whole = Buffer.concat([...deflated([text], 6)]);
    const cuts = fc.array(fc.oneof(fc.integer({ min: 0, max: 5000 }), fc.integer({ min: 0, max: text.length })), { maxLength: 20 });
    fc.assert(
      fc.property(cuts, (sizes) => {
        expect(Buffer.concat([...deflated(reusedPieces(sizes), 6)]).equals(whole)).toBe(true);
      }),
      { numRuns: 25 },
    );
  });
});

/** The text in pieces of these sizes and the rest, each of which the next one overwrites, as it is with files. */
function* reusedPieces(sizes: readonly number[]): Generator<Uint8Array, void> {
  const buffer = Buffer.alloc(text.length);
  let at = 0;
  for (const size of [...sizes, text.length]) {
    const count = text.copy(buffer, 0, at, at + size);
    yield buffer.subarray(0, count);
    buffer.fill(0xff, 0, count);
    at += count;
  }
}
