import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeSecret } from '../../src/keys/new-key.ts';
import { newKeyId } from '../../src/token/key-id.ts';
import { expectRandom } from '../support/random-octets.ts';
import { tokenAndStore, type TokenAndStore } from '../support/token-and-store.ts';

let parts: TokenAndStore;
beforeAll(async () => {
  parts = await tokenAndStore();
});
afterAll(async () => parts.end());

describe('a secret that the service makes', () => {
  it.each([
    ['the password of a key', 'PASSWORD', 20],
    ['an authToken', 'SINGLE_USE', 32],
  ] as const)('has so many random octets that nobody guesses it, under a salt of its own: %s', async (_name, protocol, octets) => {
    const made = await Promise.all(
      Array.from({ length: 8 }, async () => makeSecret(parts.token, newKeyId('caller'), { protocol, transactionId: 'transaction' })),
    );
    const texts = made.map(({ secret }) => secret.password ?? secret.authToken ?? '');
    const values = texts.map((text) => Buffer.from(text, 'base64url'));
    expect(values.map((value) => value.toString('base64url'))).toEqual(texts);
    expect(values.map(({ length }) => length)).toEqual(values.map(() => octets));
    expectRandom(values, octets);
    for (const salt of ['secret_salt', 'transaction_salt'] as const)
      expectRandom(
        made.map(({ columns }) => columns[salt] ?? Buffer.alloc(0)),
        16,
      );
    for (const mac of ['secret_mac', 'transaction_mac'] as const)
      expectRandom(
        made.map(({ columns }) => columns[mac] ?? Buffer.alloc(0)),
        32,
      );
  });

  it('for OTP alone is none', async () => {
    const { secret, columns } = await makeSecret(parts.token, newKeyId('caller'), { protocol: 'OTP', transactionId: undefined });
    expect(secret).toEqual({});
    expect([columns.secret_salt, columns.secret_mac, columns.transaction_salt, columns.transaction_mac]).toEqual([
      new Uint8Array(),
      new Uint8Array(),
      null,
      null,
    ]);
  });
});
