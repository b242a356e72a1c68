import { describe, expect, it } from 'vitest';
import { KeptByNumber } from '../../src/pdf/kept-by-number.ts';
import { PdfFault } from '../../src/pdf/pdf-fault.ts';
import { NotQuick, WorkLimit } from '../../src/pdf/work-limit.ts';

const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;
const quick = (): WorkLimit => new WorkLimit({ mustBeQuick: true });
const slow = (): WorkLimit => new WorkLimit({ mustBeQuick: false });

describe('the work that a file makes', () => {
  it('is 512 MiB of objects at most, each with 200 bytes beside its own', () => {
    const work = slow();
    work.parsed(512 * mebibyte - 400);
    work.parsed(0);
    expect(() => work.parsed(0)).toThrow(PdfFault);
    const ofEntries = slow();
    ofEntries.entries((512 * mebibyte) / 8);
    expect(() => ofEntries.entries(1)).toThrow(PdfFault);
  });

  it('is 1 GiB of streams at most', () => {
    const work = slow();
    expect(work.decodableBytes).toBe(1024 * mebibyte);
    work.decoded(1000 * mebibyte);
    expect(work.decodableBytes).toBe(24 * mebibyte);
    work.decoded(24 * mebibyte);
    expect(() => work.decoded(1)).toThrow(PdfFault);
  });

  it('is quick up to 256 KiB of objects and 512 KiB of streams', () => {
    for (const work of [quick(), slow()]) {
      work.parsed(256 * kibibyte - 200);
      work.decoded(512 * kibibyte);
      expect(work.isQuick).toBe(true);
    }
    expect(quick().decodableBytes).toBe(512 * kibibyte);
    expect(() => quick().parsed(256 * kibibyte - 199)).toThrow(NotQuick);
    expect(() => quick().decoded(512 * kibibyte + 1)).toThrow(NotQuick);
    quick().entries(32 * kibibyte);
    expect(() => quick().entries(32 * kibibyte + 1)).toThrow(NotQuick);
    const work = slow();
    work.parsed(256 * kibibyte - 199);
    expect(work.isQuick).toBe(false);
  });

  it('is not quick where it takes long by its nature', () => {
    expect(() => quick().long()).toThrow(NotQuick);
    const work = slow();
    work.long();
    expect(work.isQuick).toBe(false);
  });
});

describe('values that are kept by numbers', () => {
  it('are forgotten when they take more than the limit, all but the newest', () => {
    const kept = new KeptByNumber<string>(10);
    kept.keep(1, 'one', 6);
    kept.keep(2, 'two', 4);
    expect([kept.get(1), kept.get(2), kept.get(3)]).toEqual(['one', 'two', undefined]);
    kept.keep(3, 'three', 1);
    expect([kept.get(1), kept.get(2), kept.get(3)]).toEqual([undefined, undefined, 'three']);
    kept.keep(4, 'four', 9);
    expect(kept.get(3)).toBe('three');
    kept.clear();
    expect(kept.get(3)).toBeUndefined();
    kept.keep(5, 'five', 10);
    kept.keep(6, 'six', 1);
    expect([kept.get(5), kept.get(6)]).toEqual([undefined, 'six']);
  });
});
