import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { expect, it } from 'vitest';
import { takesLong } from '../../src/verification/effort.ts';
import { rsaPublicKey } from '../support/forged-values.ts';

it.each([
  ['P-256', 62],
  ['P-384', 5],
  ['P-521', 2],
] as const)('so many values of %s are verified at once, and one more takes long: %d', (namedCurve, values) => {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve });
  expect([takesLong(publicKey, values), takesLong(publicKey, values + 1)]).toEqual([false, true]);
});

it('RSA takes longer with the square of its modulus, and with its exponent', () => {
  const key = (bits: number, exponent: bigint) =>
    createPublicKey({ key: Buffer.from(rsaPublicKey(Buffer.alloc(bits / 8, 0xc5), exponent)), format: 'der', type: 'spki' });
  expect([takesLong(key(2048, 65_537n), 199), takesLong(key(2048, 65_537n), 200)]).toEqual([false, true]);
  expect([takesLong(key(8192, 65_537n), 12), takesLong(key(8192, 65_537n), 13)]).toEqual([false, true]);
  expect([takesLong(key(8192, 2n ** 31n + 1n), 6), takesLong(key(8192, 2n ** 31n + 1n), 7)]).toEqual([false, true]);
});
