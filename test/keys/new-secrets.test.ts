import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tenantId } from '../../src/clients/caller.ts';
import { drawSecret, keyRow, type NewKey } from '../../src/keys/new-key.ts';
import type { KeyRow } from '../../src/state/tables/keys.ts';
import { newKeyId } from '../../src/token/key-id.ts';
import { certificateRow } from '../support/certificate-row.ts';
import { expectRandom } from '../support/random-octets.ts';
import { tokenAndStore, type TokenAndStore } from '../support/token-and-store.ts';

let parts: TokenAndStore;
beforeAll(async () => {
  parts = await tokenAndStore();
});
afterAll(async () => parts.end());

/** A key with its secret and its row, as createCertificate makes them. */
async function made(protocol: NewKey['protocol'], transactionId?: string): Promise<{ text: string | undefined; row: KeyRow }> {
  const { token } = parts;
  const secret = await drawSecret(token, protocol);
  const request: NewKey = {
    ...{ tenant: tenantId('demo'), type: 'P-256', protocol, transactionId, subscriber: {} },
    issue: async () => Promise.reject(new Error('the certificate is there')),
  };
  const issued = { row: certificateRow() };
  const row = await keyRow(token, request, { id: newKeyId('caller'), issued, secret, createdAt: Date.now() });
  return { text: secret.password ?? secret.authToken, row };
}

describe('a secret that the service makes', () => {
  it.each([
    ['the password of a key', 'PASSWORD', 20],
    ['an authToken', 'SINGLE_USE', 32],
  ] as const)('has so many random octets that nobody guesses it, under a salt of its own: %s', async (_name, protocol, octets) => {
    const all = await Promise.all(Array.from({ length: 8 }, async () => made(protocol, 'transaction')));
    const texts = all.map(({ text = '' }) => text);
    const values = texts.map((text) => Buffer.from(text, 'base64url'));
    expect(values.map((value) => value.toString('base64url'))).toEqual(texts);
    expect(values.map(({ length }) => length)).toEqual(values.map(() => octets));
    expectRandom(values, octets);
    for (const salt of ['secret_salt', 'transaction_salt', 'seal_salt'] as const) {
      expectRandom(
        all.map(({ row }) => row[salt]?.subarray(0, 16) ?? Buffer.alloc(0)),
        16,
      );
    }
    for (const mac of ['secret_mac', 'transaction_mac', 'seal_mac'] as const) {
      expectRandom(
        all.map(({ row }) => row[mac] ?? Buffer.alloc(0)),
        32,
      );
    }
  });

  it('for OTP alone is none', async () => {
    const { text, row } = await made('OTP');
    expect(text).toBeUndefined();
    expect([row.secret_salt, row.secret_mac, row.transaction_salt, row.transaction_mac]).toEqual([
      new Uint8Array(),
      new Uint8Array(),
      null,
      null,
    ]);
  });
});
