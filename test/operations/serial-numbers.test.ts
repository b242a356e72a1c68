import { X509Certificate } from 'node:crypto';
import { expect, it } from 'vitest';
import { newKey } from '../support/api.ts';
import { expectRandom } from '../support/random-octets.ts';

it('certificates of callers have serial numbers of 16 random octets', async () => {
  const keys = await Promise.all(Array.from({ length: 8 }, async () => newKey('other')));
  const serials = keys.map(({ certificate }) => Buffer.from(new X509Certificate(certificate).serialNumber, 'hex'));
  expect(serials).toHaveLength(8);
  expectRandom(serials, 16);
});
