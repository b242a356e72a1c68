import { createHash, type webcrypto } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { hashes, kinds, p256, pairAlgorithms, pkcs1, pss, type PairAlgorithm } from './algorithms.ts';

const text = Buffer.from('Lu et approuvé');
const megabyte = Buffer.alloc(1_000_000, 'signetd');

/** Errors by other names (it is enough that it refuses); a signature of a wrong length is an error; key pairs that only verify. */
export type Deviation = 'error names' | 'lengths' | 'pairs without sign';

export interface Implementation {
  readonly crypto: webcrypto.Crypto;
  /** Where it is known to leave the standard. */
  readonly deviations?: ReadonlySet<Deviation>;
}

/** What every implementation of WebCrypto does with keys that sign. `implementation` is called when the tests run. */
export function signingContract(name: string, implementation: () => Implementation): void {
  const subtle = (): webcrypto.SubtleCrypto => implementation().crypto.subtle;
  const deviates = (deviation: Deviation): boolean => implementation().deviations?.has(deviation) ?? false;
  const pairOf = async (algorithm: PairAlgorithm, usages: webcrypto.KeyUsage[] = ['sign', 'verify']): Promise<webcrypto.CryptoKeyPair> => {
    const pair = await subtle().generateKey(algorithm.generate, false, usages);
    if (!('privateKey' in pair)) throw new Error('no pair');
    return pair;
  };
  const macKeyOf = async (
    hash: string,
    length?: number,
    usages: webcrypto.KeyUsage[] = ['sign', 'verify'],
  ): Promise<webcrypto.CryptoKey> => {
    const key = await subtle().generateKey({ name: 'HMAC', hash, ...(length === undefined ? {} : { length }) }, false, usages);
    if ('privateKey' in key) throw new Error('no key');
    return key;
  };
  const refuses = async (call: Promise<unknown>, error: string): Promise<void> => {
    const outcome = await call.then(
      () => 'no refusal',
      (reason: unknown) => (reason instanceof Error || reason instanceof DOMException ? reason.name : 'no error'),
    );
    if (deviates('error names')) expect(outcome).not.toMatch(/^no /);
    else expect(outcome).toBe(error);
  };

  describe(`${name}: key pairs`, () => {
    it.each(pairAlgorithms.map((algorithm) => ({ label: algorithm.label, algorithm })))(
      '$label: signs what OpenSSL verifies, and verifies nothing else',
      async ({ algorithm }) => {
        const { privateKey, publicKey } = await pairOf(algorithm);
        const value = await subtle().sign(algorithm.sign, privateKey, text);
        expect(value.byteLength).toBe(algorithm.bytes);
        expect(algorithm.verifies(await subtle().exportKey('spki', publicKey), value, text)).toBe(true);
        expect(await subtle().verify(algorithm.sign, publicKey, value, text)).toBe(true);
        expect(await subtle().verify(algorithm.sign, publicKey, value, Buffer.from('another text'))).toBe(false);
        const changed = Buffer.from(value.slice(0));
        changed[20] = (changed[20] ?? 0) ^ 1;
        expect(await subtle().verify(algorithm.sign, publicKey, changed, text)).toBe(false);
        expect(await subtle().verify(algorithm.sign, publicKey, new ArrayBuffer(algorithm.bytes), text)).toBe(false);
        for (const wrong of deviates('lengths')
          ? []
          : [value.slice(0, -1), Buffer.concat([Buffer.from(value), Buffer.of(0)]), new ArrayBuffer(0)]) {
          expect(await subtle().verify(algorithm.sign, publicKey, wrong, text)).toBe(false);
        }
      },
    );

    it.each(kinds.map((algorithm) => ({ label: algorithm.label, algorithm })))('$label: signs no bytes and 1 MB', async ({ algorithm }) => {
      const { privateKey, publicKey } = await pairOf(algorithm);
      const spki = await subtle().exportKey('spki', publicKey);
      for (const data of [Buffer.alloc(0), megabyte]) {
        const value = await subtle().sign(algorithm.sign, privateKey, data);
        expect(algorithm.verifies(spki, value, data)).toBe(true);
        expect(await subtle().verify(algorithm.sign, publicKey, value, data)).toBe(true);
      }
    });

    it.each(kinds.map((algorithm) => ({ label: algorithm.label, algorithm })))(
      '$label: signs the data of the call, 50 at once',
      async ({ algorithm }) => {
        const { privateKey, publicKey } = await pairOf(algorithm);
        const spki = await subtle().exportKey('spki', publicKey);
        const documents = Array.from({ length: 50 }, (_, index) => Buffer.alloc(index * 3000, `document ${index}`));
        const values = await Promise.all(documents.map(async (document) => subtle().sign(algorithm.sign, privateKey, document)));
        expect(values.map((value, index) => algorithm.verifies(spki, value, documents[index] ?? text)).every(Boolean)).toBe(true);
      },
    );

    it('pads r and s to the width of the curve, whatever their values', async () => {
      const { privateKey } = await pairOf(p256);
      // One value in 128 has a leading zero octet in r or s: with 400 values all but one run in 20 meets one.
      const values = await Promise.all(
        Array.from({ length: 400 }, async (_, index) => subtle().sign(p256.sign, privateKey, Buffer.of(index & 255, index >> 8))),
      );
      expect(new Set(values.map(({ byteLength }) => byteLength))).toEqual(new Set([64]));
    });

    it.each([0, 1, 20, 32, 222])('RSA-PSS: a salt of %i bytes, and of no other length', async (saltLength) => {
      const algorithm = pss('SHA-256', saltLength);
      const { privateKey, publicKey } = await pairOf(algorithm);
      const value = await subtle().sign(algorithm.sign, privateKey, text);
      expect(algorithm.verifies(await subtle().exportKey('spki', publicKey), value, text)).toBe(true);
      expect(await subtle().verify(algorithm.sign, publicKey, value, text)).toBe(true);
      expect(await subtle().verify(pss('SHA-256', Math.abs(saltLength - 1)).sign, publicKey, value, text)).toBe(false);
    });

    it('RSA-PSS: refuses a salt that the modulus has no room for', async () => {
      const { privateKey } = await pairOf(pss('SHA-512', 190));
      expect((await subtle().sign(pss('SHA-512', 190).sign, privateKey, text)).byteLength).toBe(256);
      await refuses(subtle().sign(pss('SHA-512', 191).sign, privateKey, text), 'OperationError');
    });

    it('takes any BufferSource, of a view its part alone, as it is at the moment of the call', async () => {
      const { privateKey, publicKey } = await pairOf(p256);
      const spki = await subtle().exportKey('spki', publicKey);
      const framed = Buffer.concat([Buffer.from('before'), text, Buffer.from('after')]);
      const view = new DataView(framed.buffer, framed.byteOffset + 6, text.length);
      const buffer = new Uint8Array(text).buffer;
      for (const source of [view, buffer, new Uint8Array(buffer)]) {
        expect(p256.verifies(spki, await subtle().sign(p256.sign, privateKey, source), text)).toBe(true);
      }
      for (const length of [100, 500_000]) {
        const data = Buffer.alloc(length, 1);
        const signing = subtle().sign(p256.sign, privateKey, data);
        data.fill(2);
        expect(p256.verifies(spki, await signing, Buffer.alloc(length, 1))).toBe(true);
      }
    });
  });

  describe(`${name}: HMAC`, () => {
    it.each(hashes)('with %s: verifies its own values and no others', async (hash) => {
      const key = await macKeyOf(hash);
      const other = await macKeyOf(hash);
      for (const data of [Buffer.alloc(0), text, megabyte]) {
        const value = await subtle().sign('HMAC', key, data);
        expect(value.byteLength).toBe({ 'SHA-256': 32, 'SHA-384': 48, 'SHA-512': 64 }[hash]);
        expect(Buffer.from(await subtle().sign('HMAC', key, data))).toEqual(Buffer.from(value));
        expect(await subtle().verify('HMAC', key, value, data)).toBe(true);
        expect(await subtle().verify('HMAC', other, value, data)).toBe(false);
        expect(await subtle().verify('HMAC', key, value, Buffer.concat([data, Buffer.of(0)]))).toBe(false);
        for (const wrong of [value.slice(0, -1), Buffer.concat([Buffer.from(value), Buffer.of(0)]), new ArrayBuffer(0)]) {
          expect(await subtle().verify('HMAC', key, wrong, data)).toBe(false);
        }
      }
    });

    it('signs and verifies 50 at once, right and wrong ones', async () => {
      const key = await macKeyOf('SHA-256');
      const documents = Array.from({ length: 50 }, (_, index) => Buffer.from(`document ${index}`));
      const values = await Promise.all(documents.map(async (document) => subtle().sign('HMAC', key, document)));
      const answers = await Promise.all(
        values.map(async (value, index) => subtle().verify('HMAC', key, value, documents[index - (index % 2)] ?? text)),
      );
      expect(answers).toEqual(documents.map((_, index) => index % 2 === 0));
    });

    it('says length and hash of its keys, and takes a length', async () => {
      expect((await macKeyOf('SHA-384', 512)).algorithm).toEqual({ name: 'HMAC', hash: { name: 'SHA-384' }, length: 512 });
    });

    it('keeps to its usages', async () => {
      const [signs, verifies] = [await macKeyOf('SHA-256', 256, ['sign']), await macKeyOf('SHA-256', 256, ['verify'])];
      const value = await subtle().sign('HMAC', signs, text);
      await refuses(subtle().verify('HMAC', signs, value, text), 'InvalidAccessError');
      await refuses(subtle().sign('HMAC', verifies, text), 'InvalidAccessError');
    });

    it('gives no key away', async () => {
      const key = await macKeyOf('SHA-256');
      expect([key.type, key.extractable]).toEqual(['secret', false]);
      await refuses(subtle().exportKey('raw', key), 'InvalidAccessError');
      await refuses(subtle().exportKey('jwk', key), 'InvalidAccessError');
    });
  });

  describe(`${name}: keys`, () => {
    it.each(kinds.map((algorithm) => ({ label: algorithm.label, algorithm })))('$label: say what they are', async ({ algorithm }) => {
      const { privateKey, publicKey } = await pairOf(algorithm);
      expect([privateKey.type, privateKey.extractable, privateKey.usages]).toEqual(['private', false, ['sign']]);
      expect([publicKey.type, publicKey.extractable, publicKey.usages]).toEqual(['public', true, ['verify']]);
      expect(Object.prototype.toString.call(privateKey)).toBe('[object CryptoKey]');
      const asked = algorithm.generate;
      const expected = { ...asked, ...('hash' in asked ? { hash: { name: asked.hash } } : {}) };
      expect({ ...privateKey.algorithm }).toMatchObject(expected);
      expect({ ...publicKey.algorithm }).toMatchObject(expected);
    });

    it.each(kinds.map((algorithm) => ({ label: algorithm.label, algorithm })))(
      '$label: give no private key away',
      async ({ algorithm }) => {
        const { privateKey } = await pairOf(algorithm);
        await refuses(subtle().exportKey('pkcs8', privateKey), 'InvalidAccessError');
        await refuses(subtle().exportKey('jwk', privateKey), 'InvalidAccessError');
      },
    );

    it.each(kinds.map((algorithm) => ({ label: algorithm.label, algorithm })))(
      '$label: give the public key in every format, and take it back',
      async ({ algorithm }) => {
        const { privateKey, publicKey } = await pairOf(algorithm);
        const value = await subtle().sign(algorithm.sign, privateKey, text);
        const spki = await subtle().exportKey('spki', publicKey);
        const jwk = await subtle().exportKey('jwk', publicKey);
        const imported = [
          await subtle().importKey('spki', spki, algorithm.generate, true, ['verify']),
          await subtle().importKey('jwk', jwk, algorithm.generate, true, ['verify']),
        ];
        if (!algorithm.label.startsWith('RSA')) {
          const raw = await subtle().exportKey('raw', publicKey);
          imported.push(await subtle().importKey('raw', raw, algorithm.generate, true, ['verify']));
        }
        for (const key of imported) {
          expect(await subtle().verify(algorithm.sign, key, value, text)).toBe(true);
          expect(Buffer.from(await subtle().exportKey('spki', key))).toEqual(Buffer.from(spki));
        }
      },
    );

    it('do what their usages say and nothing else', async () => {
      const { privateKey, publicKey } = await pairOf(p256);
      const value = await subtle().sign(p256.sign, privateKey, text);
      await refuses(subtle().sign(p256.sign, publicKey, text), 'InvalidAccessError');
      await refuses(subtle().verify(p256.sign, privateKey, value, text), 'InvalidAccessError');
      const { publicKey: unusable } = await pairOf(p256, ['sign']);
      expect(unusable.usages).toEqual([]);
      await refuses(subtle().verify(p256.sign, unusable, value, text), 'InvalidAccessError');
    });

    it('are not made for usages that their algorithm has not, or for none', async () => {
      await refuses(pairOf(p256, ['sign', 'encrypt']), 'SyntaxError');
      if (!deviates('pairs without sign')) await refuses(pairOf(pkcs1, ['verify']), 'SyntaxError');
      await refuses(pairOf(p256, []), 'SyntaxError');
      await refuses(macKeyOf('SHA-256', 256, []), 'SyntaxError');
      await refuses(macKeyOf('SHA-256', 256, ['sign', 'wrapKey']), 'SyntaxError');
    });

    it('sign by their own algorithm alone', async () => {
      const [ec, rsa] = [await pairOf(p256), await pairOf(pkcs1)];
      await refuses(subtle().sign(pkcs1.sign, ec.privateKey, text), 'InvalidAccessError');
      await refuses(subtle().sign(pss('SHA-256', 32).sign, rsa.privateKey, text), 'InvalidAccessError');
      await refuses(subtle().sign('HMAC', rsa.privateKey, text), 'InvalidAccessError');
      await refuses(subtle().sign('Ed25519', ec.privateKey, text), 'InvalidAccessError');
      await refuses(subtle().sign(p256.sign, await macKeyOf('SHA-256'), text), 'InvalidAccessError');
    });
  });

  describe(`${name}: requests`, () => {
    it('of algorithms that are none are refused', async () => {
      const { privateKey, publicKey } = await pairOf(p256);
      await refuses(subtle().generateKey('ROT13', false, ['sign']), 'NotSupportedError');
      await refuses(subtle().generateKey({ name: 'ECDSA', namedCurve: 'P-257' }, false, ['sign']), 'NotSupportedError');
      await refuses(macKeyOf('MD5'), 'NotSupportedError');
      await refuses(subtle().sign('ROT13', privateKey, text), 'NotSupportedError');
      await refuses(subtle().sign({ name: 'ECDSA', hash: 'MD5' }, privateKey, text), 'NotSupportedError');
      await refuses(subtle().verify('ROT13', publicKey, text, text), 'NotSupportedError');
      await refuses(subtle().digest('MD5', text), 'NotSupportedError');
    });

    it('without a member that their algorithm needs are refused', async () => {
      const { privateKey } = await pairOf(p256);
      await refuses(subtle().sign({ name: 'ECDSA' }, privateKey, text), 'TypeError');
      await refuses(subtle().generateKey({ name: 'ECDSA' }, false, ['sign']), 'TypeError');
      await refuses(subtle().generateKey({ name: 'HMAC' }, false, ['sign']), 'TypeError');
      await refuses(
        subtle().generateKey({ name: 'RSA-PSS', hash: 'SHA-256' } as webcrypto.RsaHashedKeyGenParams, false, ['sign']),
        'TypeError',
      );
    });

    it('may name algorithms in any case', async () => {
      const key = await subtle().generateKey({ name: 'ecdsa', namedCurve: 'P-256' }, false, ['sign', 'verify']);
      const { privateKey, publicKey } = key;
      expect(privateKey.algorithm.name).toBe('ECDSA');
      const algorithm: webcrypto.EcdsaParams = { name: 'EcDsA', hash: 'sha-256' };
      expect(await subtle().verify(algorithm, publicKey, await subtle().sign(algorithm, privateKey, text), text)).toBe(true);
    });

    it.each(['SHA-1', ...hashes])('for a digest by %s are answered', async (hash) => {
      const expected = createHash(hash.replace('-', '')).update(text).digest();
      expect(Buffer.from(await subtle().digest(hash, text))).toEqual(expected);
    });

    it('for random numbers are answered', () => {
      const { crypto } = implementation();
      const bytes = crypto.getRandomValues(new Uint8Array(32));
      expect(bytes).not.toEqual(new Uint8Array(32));
      expect(crypto.randomUUID()).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    });
  });
}
