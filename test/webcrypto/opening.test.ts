import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { macKeyId, newKeyId } from '../../src/token/key-id.ts';
import { serviceKeys } from '../../src/token/service-keys.ts';
import { TokenCrypto } from '../../src/webcrypto/token-crypto.ts';
import { kinds, p256, pkcs1, pss } from './algorithms.ts';
import { memoryJournal, scratchProvider } from './scratch-provider.ts';

const provider = scratchProvider();
const text = Buffer.from('Lu et approuvé');
const another = (): TokenCrypto => new TokenCrypto(serviceKeys(provider().token, provider().token.messages), memoryJournal());
const refusedAs = (name: string): unknown => expect.objectContaining({ name });

describe('a service key that is on the token already', () => {
  it.each(kinds.map((algorithm) => ({ label: algorithm.label, algorithm })))('$label: signs by its CKA_ID', async ({ algorithm }) => {
    const { crypto } = provider();
    const made = await crypto.subtle.generateKey(algorithm.generate, false, ['sign', 'verify']);
    if (!('privateKey' in made)) throw new Error('no pair');
    const spki = await crypto.subtle.exportKey('spki', made.publicKey);
    const later = another();
    const opened = await later.openKeyPair(crypto.idOf(made.privateKey), new Uint8Array(spki), algorithm.generate);
    expect(later.idOf(opened.privateKey)).toBe(crypto.idOf(made.privateKey));
    expect(opened.privateKey.algorithm).toEqual(made.privateKey.algorithm);
    const value = await later.subtle.sign(algorithm.sign, opened.privateKey, text);
    expect(algorithm.verifies(spki, value, text)).toBe(true);
    expect(await later.subtle.verify(algorithm.sign, opened.publicKey, value, text)).toBe(true);
  });

  it('of RSA: signs by the scheme that it is opened for', async () => {
    const { token } = provider();
    const id = newKeyId('general');
    const spki = new Uint8Array(await token.createKey(id, 'RSA-3072'));
    const crypto = another();
    const forPkcs1 = await crypto.openKeyPair(id, spki, { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' });
    const forPss = await crypto.openKeyPair(id, spki, { name: 'RSA-PSS', hash: 'SHA-512' });
    expect(forPss.privateKey.algorithm).toMatchObject({ modulusLength: 3072 });
    const [one, other] = [await crypto.subtle.sign(pkcs1.sign, forPkcs1.privateKey, text), pss('SHA-512', 64)];
    expect(pkcs1.verifies(spki.buffer, one, text)).toBe(true);
    expect(other.verifies(spki.buffer, await crypto.subtle.sign(other.sign, forPss.privateKey, text), text)).toBe(true);
    await expect(crypto.subtle.sign(other.sign, forPkcs1.privateKey, text)).rejects.toEqual(refusedAs('InvalidAccessError'));
  });

  it('of HMAC: verifies by its CKA_ID, with its own hash alone', async () => {
    const { crypto } = provider();
    const key = await crypto.subtle.generateKey({ name: 'HMAC', hash: 'SHA-512' }, false, ['sign', 'verify']);
    const value = await crypto.subtle.sign('HMAC', key, text);
    const later = another();
    const opened = later.openMacKey(crypto.idOf(key), { hash: 'SHA-512' }, ['verify']);
    expect(opened.algorithm).toEqual(key.algorithm);
    expect(await later.subtle.verify('HMAC', opened, value, text)).toBe(true);
    expect(await later.subtle.verify('HMAC', opened, value, Buffer.from('another'))).toBe(false);
    await expect(later.subtle.sign('HMAC', opened, text)).rejects.toEqual(refusedAs('InvalidAccessError'));
    const otherHash = later.openMacKey(crypto.idOf(key), { hash: 'SHA-256' }, ['sign']);
    await expect(later.subtle.sign('HMAC', otherHash, text)).rejects.toEqual(refusedAs('OperationError'));
  });

  it('is not opened with a public key of another kind or curve', async () => {
    const { crypto } = provider();
    const spki = new Uint8Array(generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey.export({ type: 'spki', format: 'der' }));
    const id = newKeyId('general');
    await expect(crypto.openKeyPair(id, spki, p256.generate)).rejects.toEqual(refusedAs('DataError'));
    await expect(crypto.openKeyPair(id, spki, 'Ed25519')).rejects.toEqual(refusedAs('DataError'));
    await expect(crypto.openKeyPair(id, Buffer.from('no key'), p256.generate)).rejects.toEqual(refusedAs('DataError'));
  });

  it('that is not there signs nothing', async () => {
    const { crypto } = provider();
    const spki = new Uint8Array(generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ type: 'spki', format: 'der' }));
    const { privateKey } = await crypto.openKeyPair(newKeyId('general'), spki, p256.generate);
    await expect(crypto.subtle.sign(p256.sign, privateKey, text)).rejects.toEqual(refusedAs('OperationError'));
  });
});

describe("a key that is none of the service's", () => {
  it("is not opened: a caller's, and the key that secrets are checked with", async () => {
    const { crypto, token } = provider();
    const caller = newKeyId('caller');
    const spki = new Uint8Array(await token.createKey(caller, 'P-256'));
    await expect(crypto.openKeyPair(caller, spki, p256.generate)).rejects.toEqual(refusedAs('InvalidAccessError'));
    for (const id of [caller, macKeyId]) {
      expect(() => crypto.openMacKey(id, { hash: 'SHA-256' }, ['sign'])).toThrow(refusedAs('InvalidAccessError'));
    }
  });
});
