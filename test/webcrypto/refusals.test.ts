import { execFileSync } from 'node:child_process';
import { webcrypto } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { serviceKeys, type ServiceKeys } from '../../src/token/service-keys.ts';
import { TokenCryptoKey } from '../../src/webcrypto/token-keys.ts';
import { TokenCrypto } from '../../src/webcrypto/token-crypto.ts';
import { maxMessageBytes } from '../../src/token/wire/provider-messages.ts';
import { hashes, kinds, p256, pkcs1 } from './algorithms.ts';
import { memoryJournal, scratchProvider } from './scratch-provider.ts';

const provider = scratchProvider();
const text = Buffer.from('Lu et approuvé');
const subtle = (): webcrypto.SubtleCrypto => provider().crypto.subtle;
const publicExponent = new Uint8Array([1, 0, 1]);
const ec = { name: 'ECDSA', namedCurve: 'P-256' } as const;

async function refuses(call: Promise<unknown>, name: string): Promise<void> {
  await expect(call).rejects.toEqual(expect.objectContaining({ name }));
}

describe('the token provider', () => {
  it('asks the token once for a signature, and for its digest alone', async () => {
    const { token } = provider();
    const port = serviceKeys(token, token.messages);
    const lengths: number[] = [];
    const watching: ServiceKeys = {
      ...port,
      signDigest: async (id, algorithm, digest) => {
        lengths.push(digest.length);
        return port.signDigest(id, algorithm, digest);
      },
    };
    const crypto = new TokenCrypto(watching, memoryJournal());
    const { privateKey } = await crypto.subtle.generateKey(ec, false, ['sign']);
    await crypto.subtle.sign(p256.sign, privateKey, Buffer.alloc(5_000_000));
    expect(lengths).toEqual([32]);
  });

  it('makes Ed25519 and HMAC keys sensitive, never extractable and for nothing but signing, as pkcs11-tool sees them', async () => {
    const { crypto, scratch } = provider();
    const { privateKey } = await crypto.subtle.generateKey({ name: 'Ed25519' }, false, ['sign']).then((made) => {
      if (!('privateKey' in made)) throw new Error('no pair');
      return made;
    });
    const mac = await crypto.subtle.generateKey({ name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify']);
    const listed = (type: string): string =>
      execFileSync(
        'pkcs11-tool',
        ['--module', '/usr/lib/softhsm/libsofthsm2.so', '--login', '--pin', scratch.pin, '--list-objects', '--type', type],
        { env: { ...process.env, ...scratch.environment }, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] },
      );
    /** What pkcs11-tool says of one key, from its ID on. */
    const said = (type: string, id: string): string => listed(type).split(`ID:         ${id}`)[1]?.split('Key Object')[0] ?? '';
    expect(said('privkey', crypto.idOf(privateKey))).toMatch(/^ {2}Usage: +sign$/m);
    // Of secret keys pkcs11-tool does not say whether they sign.
    expect(said('secrkey', crypto.idOf(mac))).toMatch(/^ {2}Usage: +verify$/m);
    for (const one of [said('privkey', crypto.idOf(privateKey)), said('secrkey', crypto.idOf(mac))]) {
      expect(one).toMatch(/^ {2}Access: +sensitive, always sensitive, never extractable, local$/m);
    }
  });

  it.each([...kinds.map(({ generate }) => generate), { name: 'HMAC', hash: 'SHA-256' }])(
    'makes no extractable key: %o',
    async (algorithm) => {
      await refuses(subtle().generateKey(algorithm, true, ['sign']), 'NotSupportedError');
    },
  );

  it('does not sign with SHA-1, and verifies what others signed with it', async () => {
    await refuses(
      subtle().generateKey({ name: 'RSA-PSS', hash: 'SHA-1', modulusLength: 2048, publicExponent }, false, ['sign']),
      'NotSupportedError',
    );
    await refuses(subtle().generateKey({ name: 'HMAC', hash: 'SHA-1' }, false, ['sign']), 'NotSupportedError');
    const { privateKey } = await subtle().generateKey(ec, false, ['sign']);
    const sha1: webcrypto.EcdsaParams = { name: 'ECDSA', hash: { name: 'SHA-1' } };
    await refuses(subtle().sign(sha1, privateKey, text), 'NotSupportedError');
    const others = await webcrypto.subtle.generateKey(ec, false, ['sign', 'verify']);
    const value = await webcrypto.subtle.sign(sha1, others.privateKey, text);
    expect(await subtle().verify(sha1, others.publicKey, value, text)).toBe(true);
  });

  it.each([
    ['1024 bits', { name: 'RSA-PSS', hash: 'SHA-256', modulusLength: 1024, publicExponent }],
    ['2049 bits', { name: 'RSA-PSS', hash: 'SHA-256', modulusLength: 2049, publicExponent }],
    ['the exponent 3', { name: 'RSA-PSS', hash: 'SHA-256', modulusLength: 2048, publicExponent: new Uint8Array([3]) }],
    ['an HMAC key shorter than its hash', { name: 'HMAC', hash: 'SHA-512', length: 256 }],
    ['an HMAC key of half a byte more', { name: 'HMAC', hash: 'SHA-256', length: 260 }],
    ['an HMAC key of 4104 bits', { name: 'HMAC', hash: 'SHA-256', length: 4104 }],
  ])('makes no key of %s', async (_size, algorithm) => {
    await refuses(subtle().generateKey(algorithm, false, ['sign']), 'OperationError');
  });

  it('takes the exponent 65537 with zeros before it', async () => {
    const exponent = new Uint8Array([0, 0, 1, 0, 1]);
    const { privateKey } = await subtle().generateKey({ ...rsa, publicExponent: exponent }, false, ['sign']);
    expect((await subtle().sign(pkcs1.sign, privateKey, text)).byteLength).toBe(256);
  });

  it.each(['Ed25519', ...hashes])('signs the longest message that goes to the token whole and refuses a longer one: %s', async (name) => {
    const algorithm = name === 'Ed25519' ? name : { name: 'HMAC', hash: name };
    const made = await subtle().generateKey(algorithm, false, ['sign', 'verify']);
    const key = 'privateKey' in made ? made.privateKey : made;
    const longest = Buffer.alloc(maxMessageBytes, 7);
    const value = await subtle().sign(key.algorithm.name, key, longest);
    expect(await subtle().verify(key.algorithm.name, 'publicKey' in made ? made.publicKey : made, value, longest)).toBe(true);
    const longer = Buffer.alloc(maxMessageBytes + 1);
    const refused = await subtle()
      .sign(key.algorithm.name, key, longer)
      .catch((error: unknown) => error);
    expect(refused).toMatchObject({ name: 'OperationError', message: expect.stringContaining(`${maxMessageBytes + 1} bytes`) as unknown });
    if (name !== 'Ed25519') await refuses(subtle().verify('HMAC', key, value, longer), 'OperationError');
    expect((await subtle().sign(key.algorithm.name, key, text)).byteLength).toBe(value.byteLength);
  });

  it('signs with nothing that is not a key of its own', async () => {
    const { privateKey } = await subtle().generateKey(ec, false, ['sign']);
    const copy = new TokenCryptoKey('private', privateKey.algorithm, privateKey.usages);
    const software = await webcrypto.subtle.generateKey(ec, false, ['sign']);
    for (const key of [copy, software.privateKey]) {
      await refuses(subtle().sign(p256.sign, key, text), 'InvalidAccessError');
    }
    const { token } = provider();
    const other = new TokenCrypto(serviceKeys(token, token.messages), memoryJournal());
    await refuses(other.subtle.sign(p256.sign, privateKey, text), 'InvalidAccessError');
    await refuses(subtle().exportKey('pkcs8', software.privateKey), 'InvalidAccessError');
  });

  it('keeps to the usages that a key was made with, whatever its members say later', async () => {
    const key = await subtle().generateKey({ name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
    key.usages.push('sign');
    await refuses(subtle().sign('HMAC', key, text), 'InvalidAccessError');
  });

  it('takes no private or secret key into software', async () => {
    const { privateKey } = await webcrypto.subtle.generateKey(ec, true, ['sign']);
    const pkcs8 = await webcrypto.subtle.exportKey('pkcs8', privateKey);
    const jwk = await webcrypto.subtle.exportKey('jwk', privateKey);
    await refuses(subtle().importKey('pkcs8', pkcs8, ec, false, ['sign']), 'NotSupportedError');
    await refuses(subtle().importKey('jwk', jwk, ec, false, ['sign']), 'NotSupportedError');
    await refuses(
      subtle().importKey('jwk', { kty: 'oct', k: 'AAAA' }, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']),
      'NotSupportedError',
    );
    await refuses(subtle().importKey('raw', text, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']), 'NotSupportedError');
  });

  it.each(['d', 'k', 'p', 'q', 'dp', 'dq', 'qi', 'priv'])('takes no JWK with a member of a private key: %s', async (member) => {
    const { publicKey } = await webcrypto.subtle.generateKey(ec, true, ['sign', 'verify']);
    const jwk = { ...(await webcrypto.subtle.exportKey('jwk', publicKey)), [member]: 'AAAA' };
    await refuses(subtle().importKey('jwk', jwk, ec, true, ['verify']), 'NotSupportedError');
  });

  it('says a public key that is none with the errors of the standard', async () => {
    await refuses(subtle().importKey('spki', text, ec, true, ['verify']), 'DataError');
    await refuses(subtle().importKey('raw', text, ec, true, ['verify']), 'DataError');
    await refuses(subtle().importKey('jwk', { kty: 'EC' }, ec, true, ['verify']), 'DataError');
  });

  it('hands out the public key of a private one', async () => {
    const { privateKey, publicKey } = await subtle().generateKey(ec, false, ['sign', 'verify']);
    const again = await subtle().getPublicKey(privateKey, ['verify']);
    expect(await subtle().exportKey('jwk', again)).toEqual(await subtle().exportKey('jwk', publicKey));
    await refuses(subtle().getPublicKey(publicKey, ['verify']), 'InvalidAccessError');
  });

  it('refuses what is not about signatures', async () => {
    const { privateKey, publicKey } = await subtle().generateKey(ec, false, ['sign', 'verify']);
    const calls: Promise<unknown>[] = [
      subtle().encrypt('RSA-OAEP', publicKey, text),
      subtle().decrypt('RSA-OAEP', privateKey, text),
      subtle().deriveBits({ name: 'ECDH', public: publicKey }, privateKey, 256),
      subtle().deriveKey({ name: 'ECDH', public: publicKey }, privateKey, 'AES-GCM', false, ['encrypt']),
      subtle().wrapKey('pkcs8', privateKey, publicKey, 'RSA-OAEP'),
      subtle().unwrapKey('pkcs8', text, privateKey, 'RSA-OAEP', 'ECDSA', false, ['sign']),
      subtle().encapsulateBits('ML-KEM-768', publicKey),
      subtle().encapsulateKey('ML-KEM-768', publicKey, 'AES-GCM', false, ['encrypt']),
      subtle().decapsulateBits('ML-KEM-768', privateKey, text),
      subtle().decapsulateKey('ML-KEM-768', privateKey, text, 'AES-GCM', false, ['encrypt']),
      subtle().generateKey({ name: 'AES-GCM', length: 256 }, false, ['encrypt']),
    ];
    for (const call of calls) await refuses(call, 'NotSupportedError');
  });
});

const rsa = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256', modulusLength: 2048 } as const;
