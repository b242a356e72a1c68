import { createHash, generateKeyPairSync, webcrypto } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { newKeyId } from '../../src/token/key-id.ts';
import { serviceKeys, type ServiceKeys } from '../../src/token/service-keys.ts';
import { TokenCrypto } from '../../src/webcrypto/token-crypto.ts';
import { memoryJournal } from './scratch-provider.ts';

const publicExponent = new Uint8Array([1, 0, 1]);
const text = Buffer.from('Lu et approuvé');
const ec = { name: 'ECDSA', namedCurve: 'P-256' } as const;
/** What the token is asked, without the keys. */
let asked: unknown[][];
let crypto: TokenCrypto;
let subtle: webcrypto.SubtleCrypto;

function spkiOf(type: string): Buffer {
  const { publicKey } =
    type === 'Ed25519'
      ? generateKeyPairSync('ed25519')
      : type.startsWith('RSA-')
        ? generateKeyPairSync('rsa', { modulusLength: Number(type.slice(4)) })
        : generateKeyPairSync('ec', { namedCurve: type });
  return publicKey.export({ type: 'spki', format: 'der' });
}

/** A token that makes whatever it is asked for, and signs with one byte. */
const port: ServiceKeys = {
  async createKey(_, type) {
    asked.push(['createKey', type]);
    return Promise.resolve(spkiOf(type));
  },
  async createMessageKey(_, type) {
    asked.push(['createMessageKey', type]);
    return Promise.resolve(type.scheme === 'HMAC' ? Buffer.alloc(0) : spkiOf('Ed25519'));
  },
  async destroyKey() {
    asked.push(['destroyKey']);
    return Promise.resolve();
  },
  async signDigest(_, algorithm, digest) {
    asked.push(['signDigest', algorithm, Buffer.from(digest).toString('hex')]);
    return Promise.resolve(Buffer.of(1));
  },
  async signMessage(_, algorithm, message) {
    await Promise.resolve();
    asked.push(['signMessage', algorithm, Buffer.from(message).toString()]);
    return Buffer.of(1);
  },
  async verifyMac(_, hash, message, mac) {
    await Promise.resolve();
    asked.push(['verifyMac', hash, Buffer.from(message).toString(), mac.length]);
    return true;
  },
};

beforeEach(() => {
  asked = [];
  crypto = new TokenCrypto(port, memoryJournal());
  ({ subtle } = crypto);
});

async function refuses(call: Promise<unknown>, name: string): Promise<void> {
  await expect(call).rejects.toEqual(expect.objectContaining({ name }));
}

async function pair(algorithm: webcrypto.AlgorithmIdentifier, usages: webcrypto.KeyUsage[] = ['sign']): Promise<webcrypto.CryptoKeyPair> {
  const made = await subtle.generateKey(algorithm as webcrypto.EcKeyGenParams, false, usages);
  return made;
}

describe('what a key is asked for with', () => {
  it.each<[string, object]>([
    ['no name', {}],
    ['a name that is no text', { name: 7 }],
    ['no hash', { name: 'HMAC' }],
    ['a hash of nothing', { name: 'HMAC', hash: null }],
    ['a hash that is a number', { name: 'HMAC', hash: 7 }],
    ['a hash without a name', { name: 'HMAC', hash: {} }],
    ['no curve', { name: 'ECDSA' }],
    ['no modulus', { name: 'RSA-PSS', hash: 'SHA-256', publicExponent }],
    ['a modulus of half a bit', { name: 'RSA-PSS', hash: 'SHA-256', modulusLength: 2048.5, publicExponent }],
    ['a modulus that is text', { name: 'RSA-PSS', hash: 'SHA-256', modulusLength: '2048', publicExponent }],
    ['no exponent', { name: 'RSA-PSS', hash: 'SHA-256', modulusLength: 2048 }],
    ['an exponent that is a number', { name: 'RSA-PSS', hash: 'SHA-256', modulusLength: 2048, publicExponent: 65_537 }],
    ['a length below zero', { name: 'HMAC', hash: 'SHA-256', length: -8 }],
  ])('is no algorithm: %s', async (_, algorithm) => {
    await refuses(pair(algorithm as webcrypto.Algorithm), 'TypeError');
    expect(asked).toEqual([]);
  });

  it('may have its names in any case', async () => {
    await pair({ name: 'ecdsa', namedCurve: 'P-384' } as webcrypto.Algorithm);
    await pair({ name: 'hMaC', hash: { name: 'sha-384' } } as webcrypto.Algorithm);
    await pair('ed25519');
    expect(asked).toEqual([
      ['createKey', 'P-384'],
      ['createMessageKey', { scheme: 'HMAC', hash: 'sha384', bytes: 128 }],
      ['createMessageKey', { scheme: 'Ed25519' }],
    ]);
    for (const name of ['ECDH', 'RSA-OAEP', 'ECDSA '])
      await refuses(pair({ ...ec, hash: 'SHA-256', name } as webcrypto.Algorithm), 'NotSupportedError');
    await refuses(pair({ name: 'ECDSA', namedCurve: 'p-256' } as webcrypto.Algorithm), 'NotSupportedError');
  });

  it.each([
    ['SHA-256', 64, 256],
    ['SHA-384', 128, 384],
    ['SHA-512', 128, 512],
  ])('is an HMAC key with %s: of %i bytes where no length is given, and of %i to 4096 bits', async (hash, bytes, least) => {
    const mac = (length?: number): Promise<unknown> =>
      pair({ name: 'HMAC', hash, ...(length === undefined ? {} : { length }) } as webcrypto.Algorithm);
    const key = await subtle.generateKey({ name: 'HMAC', hash }, false, ['sign']);
    expect(key).toMatchObject({ type: 'secret', extractable: false, algorithm: { name: 'HMAC', hash: { name: hash }, length: bytes * 8 } });
    for (const length of [least, 4096]) await mac(length);
    expect(asked.map(([, type]) => (type as { bytes: number }).bytes)).toEqual([bytes, least / 8, 512]);
    for (const length of [0, least - 8, least + 4, 4104]) await refuses(mac(length), 'OperationError');
  });

  it('has usages of signatures alone, and one that the private or secret key has', async () => {
    for (const usages of [['encrypt'], ['sign', 'encrypt']] as const) await refuses(pair(ec, [...usages]), 'SyntaxError');
    for (const usages of [[], ['verify']] as const) await refuses(pair(ec, [...usages]), 'SyntaxError');
    const mac = { name: 'HMAC', hash: 'SHA-256' };
    await refuses(subtle.generateKey(mac, false, []), 'SyntaxError');
    expect(await subtle.generateKey(mac, false, ['verify', 'verify'])).toMatchObject({ usages: ['verify'] });
    const { privateKey, publicKey } = await pair(ec, ['verify', 'sign', 'sign']);
    expect([privateKey.usages, publicKey.usages]).toEqual([['sign'], ['verify']]);
    expect((await pair(ec)).publicKey.usages).toEqual([]);
    await refuses(subtle.generateKey(ec, true, ['sign']), 'NotSupportedError');
  });
});

describe('what the token is asked for a signature', () => {
  it.each([2048, 3072, 4096])('is RSA-PSS with a salt that an RSA key of %i bits has room for', async (modulusLength) => {
    const { privateKey } = await pair({ name: 'RSA-PSS', hash: 'SHA-256', modulusLength, publicExponent } as webcrypto.Algorithm);
    const longest = modulusLength / 8 - 32 - 2;
    for (const saltLength of [0, longest]) await subtle.sign({ name: 'RSA-PSS', saltLength }, privateKey, text);
    expect(asked.slice(1).map(([, algorithm]) => algorithm)).toEqual(
      [0, longest].map((saltBytes) => ({ scheme: 'RSA_PSS', hash: 'sha256', mgfHash: 'sha256', saltBytes })),
    );
    await refuses(subtle.sign({ name: 'RSA-PSS', saltLength: longest + 1 }, privateKey, text), 'OperationError');
    await refuses(subtle.sign({ name: 'RSA-PSS', saltLength: -1 }, privateKey, text), 'TypeError');
    await refuses(subtle.sign('RSASSA-PKCS1-v1_5', privateKey, text), 'InvalidAccessError');
  });

  it('is over the digest of the bytes of a view, of a buffer, and of long data', async () => {
    const { privateKey } = await pair(ec);
    const long = Buffer.alloc(64 * 1024 + 1, 7);
    const whole = Buffer.from(text);
    for (const data of [text, new Uint8Array(text).buffer, long, whole.subarray(3, 7), new DataView(new Uint8Array(text).buffer, 2, 3)])
      await subtle.sign({ name: 'ECDSA', hash: 'SHA-384' }, privateKey, data);
    const digests = [text, text, long, text.subarray(3, 7), text.subarray(2, 5)].map((data) =>
      createHash('sha384').update(data).digest('hex'),
    );
    expect(asked.slice(1)).toEqual(digests.map((digest) => ['signDigest', { scheme: 'ECDSA', hash: 'sha384' }, digest]));
    // A caller without a compiler.
    const none = 'text' as unknown as Buffer;
    await refuses(subtle.sign({ name: 'ECDSA', hash: 'SHA-384' }, privateKey, none), 'TypeError');
  });

  it('is over a message as it was when it was asked for, whatever its owner writes later', async () => {
    const mac = await subtle.generateKey({ name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify']);
    const { privateKey } = await pair('Ed25519');
    asked = [];
    const value = Buffer.alloc(32);
    for (const call of [
      (data: Buffer) => subtle.sign('HMAC', mac, data),
      (data: Buffer) => subtle.sign('Ed25519', privateKey, data),
      (data: Buffer) => subtle.verify('HMAC', mac, value, data),
    ]) {
      const message = Buffer.from('before');
      const answer = call(message);
      message.write('behind');
      await answer;
    }
    expect(asked.map((one) => one[2])).toEqual(['before', 'before', 'before']);
  });

  it('is nothing for a MAC of another length, which is wrong', async () => {
    const mac = await subtle.generateKey({ name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
    asked = [];
    expect(await subtle.verify('HMAC', mac, Buffer.alloc(32), text)).toBe(true);
    for (const length of [0, 31, 33]) expect(await subtle.verify('HMAC', mac, Buffer.alloc(length), text)).toBe(false);
    expect(asked).toEqual([['verifyMac', 'sha256', text.toString(), 32]]);
    await refuses(subtle.sign('HMAC', mac, text), 'InvalidAccessError');
  });

  it('is nothing by a private key for a verification', async () => {
    const { privateKey } = await pair(ec, ['sign', 'verify']);
    await refuses(subtle.verify({ name: 'ECDSA', hash: 'SHA-256' }, privateKey, Buffer.alloc(64), text), 'InvalidAccessError');
  });

  it('has a value for each digest', async () => {
    const id = newKeyId('general');
    const token = (values: readonly Uint8Array[]) =>
      serviceKeys(
        { createKey: port.createKey.bind(port), destroyKey: port.destroyKey.bind(port), signDigests: async () => Promise.resolve(values) },
        port,
      );
    const ecdsa = { scheme: 'ECDSA', hash: 'sha256' } as const;
    expect(await token([Buffer.of(5)]).signDigest(id, ecdsa, Buffer.alloc(32))).toEqual(Buffer.of(5));
    await expect(token([]).signDigest(id, ecdsa, Buffer.alloc(32))).rejects.toThrow('no signature value');
  });
});

describe('a public key', () => {
  it('is imported in each form of its own, and in no other', async () => {
    const { publicKey } = await webcrypto.subtle.generateKey(ec, true, ['sign', 'verify']);
    const [spki, raw, jwk] = [
      await webcrypto.subtle.exportKey('spki', publicKey),
      await webcrypto.subtle.exportKey('raw', publicKey),
      await webcrypto.subtle.exportKey('jwk', publicKey),
    ];
    for (const key of [
      await subtle.importKey('spki', spki, ec, false, ['verify']),
      await subtle.importKey('raw', new Uint8Array(raw), ec, true, ['verify']),
      await subtle.importKey('raw-public', raw, ec, true, ['verify']),
      await subtle.importKey('jwk', jwk, ec, true, ['verify']),
    ])
      expect([key.type, key.usages]).toEqual(['public', ['verify']]);
    // Callers without a compiler.
    await refuses(subtle.importKey('jwk', spki as unknown as webcrypto.JsonWebKey, ec, true, ['verify']), 'TypeError');
    await refuses(subtle.importKey('spki', jwk as unknown as ArrayBuffer, ec, true, ['verify']), 'TypeError');
    for (const format of ['pkcs8', 'raw-private', 'raw-secret', 'raw-seed'] as const)
      await refuses(subtle.importKey(format as 'pkcs8', raw, ec, true, ['verify']), 'NotSupportedError');
  });

  it('is exported in each form, and no key of the token is', async () => {
    const { privateKey, publicKey } = await pair(ec, ['sign', 'verify']);
    expect(await subtle.exportKey('jwk', publicKey)).toMatchObject({ kty: 'EC', crv: 'P-256' });
    expect((await subtle.exportKey('raw', publicKey)).byteLength).toBe(65);
    for (const format of ['spki', 'pkcs8', 'raw'] as const) await refuses(subtle.exportKey(format, privateKey), 'InvalidAccessError');
    await refuses(subtle.exportKey('jwk', privateKey), 'InvalidAccessError');
    expect((await subtle.getPublicKey(privateKey, [])).usages).toEqual([]);
    expect((await subtle.getPublicKey(privateKey, ['verify'])).extractable).toBe(true);
  });
});

describe('a key for another purpose', () => {
  it('is not opened', async () => {
    for (const purpose of ['audit', 'root', 'authority', 'ocsp', 'timeStamps', 'mac', 'caller'] as const) {
      await refuses(crypto.openKeyPair(newKeyId(purpose), spkiOf('P-256'), ec), 'InvalidAccessError');
      expect(() => crypto.openMacKey(newKeyId(purpose), { hash: 'SHA-256' }, ['sign'])).toThrow('only keys for general use');
    }
    const opened = await crypto.openKeyPair(newKeyId('general'), spkiOf('P-256'), ec);
    expect([opened.privateKey.usages, opened.publicKey.usages]).toEqual([['sign'], ['verify']]);
    // It is somebody else's to keep.
    await crypto.keep(opened.privateKey);
    const rsa = { name: 'RSA-PSS', hash: 'SHA-256' };
    await refuses(crypto.openKeyPair(newKeyId('general'), spkiOf('P-256'), rsa), 'DataError');
  });
});
