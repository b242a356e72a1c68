import { expect } from 'vitest';

/**
 * Whether values are so many random octets each: an octet that is the same in all of them is none. Of eight values one comes out so by chance once in
 * 10^15 runs, of four once in 10^6. Unsigned numbers may have lost their leading zeros.
 */
export function expectRandom(values: readonly Uint8Array[], octets: number): void {
  expect(values.length).toBeGreaterThanOrEqual(4);
  const padded = values.map((value) => {
    expect(value.length).toBeLessThanOrEqual(octets + 1);
    const significant = value.length > octets ? value.subarray(1) : value;
    return Buffer.concat([Buffer.alloc(octets - significant.length), significant]);
  });
  const constant = Array.from({ length: octets }, (_, index) => index).filter(
    (index) => new Set(padded.map((one) => one[index])).size === 1,
  );
  expect(constant).toEqual([]);
}
