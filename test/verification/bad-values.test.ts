import { createHash, createPublicKey, generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { hashOids } from '../../src/x509/signature-identifier.ts';
import type { DataAlgorithm } from '../../src/verification/verify-value.ts';
import { forgedByCubeRoot } from '../support/forged-values.ts';
import { badEcdsaValues, badEd25519Values } from './bad-curve-values.ts';
import { badPkcs1Values, badPssValues, pssValue, type Values } from './bad-rsa-values.ts';
import { places } from './places.ts';

/**
 * The classes of Wycheproof's vectors for RSASSA-PKCS1-v1_5, RSASSA-PSS, ECDSA and Ed25519, made by rule with keys of the moment: so they can be over what each
 * place signs, certificates, CRLs and OCSP answers too. The vectors themselves are in `wycheproof.test.ts`.
 */
interface Kind {
  readonly name: string;
  readonly algorithm: DataAlgorithm;
  readonly key: KeyObject;
  readonly right: (message: Uint8Array) => Uint8Array;
  readonly wrong: (message: Uint8Array) => Values;
}

const rsaKey = (modulusLength: number, publicExponent = 65_537): KeyObject =>
  generateKeyPairSync('rsa', { modulusLength, publicExponent }).privateKey;
const rsa = rsaKey(2048);
const oddRsa = rsaKey(2056);
const rsa3072 = rsaKey(3072);

const pkcs1 = (key: KeyObject, hash: 'sha256' | 'sha384' | 'sha512'): Kind => ({
  name: `RSASSA-PKCS1-v1_5 with ${hash} and ${key.asymmetricKeyDetails?.modulusLength} bits`,
  algorithm: { scheme: 'RSA_PKCS1', hash },
  key,
  right: (message) => sign(hash, message, key),
  wrong: (message) => badPkcs1Values(key, hash, message),
});
const pss = (
  key: KeyObject,
  hash: 'sha256' | 'sha384' | 'sha512',
  mgfHash: 'sha1' | 'sha256' | 'sha384' | 'sha512',
  saltBytes: number,
): Kind => {
  const algorithm = { scheme: 'RSA_PSS', hash, mgfHash, saltBytes } as const;
  return {
    name: `RSASSA-PSS with ${hash}, ${mgfHash} in MGF1, a salt of ${saltBytes} and ${key.asymmetricKeyDetails?.modulusLength} bits`,
    algorithm,
    key,
    right: (message) => pssValue(key, algorithm, message),
    wrong: (message) => badPssValues(key, algorithm, message),
  };
};
const ecdsa = (namedCurve: 'P-256' | 'P-384' | 'P-521', hash: 'sha256' | 'sha384' | 'sha512'): Kind => {
  const key = generateKeyPairSync('ec', { namedCurve }).privateKey;
  return {
    name: `ECDSA with ${namedCurve} and ${hash}`,
    algorithm: { scheme: 'ECDSA', hash },
    key,
    right: (message) => sign(hash, message, key),
    wrong: (message) => badEcdsaValues(key, hash, message),
  };
};
const edwards = generateKeyPairSync('ed25519').privateKey;

const kinds: readonly Kind[] = [
  pkcs1(rsa, 'sha256'),
  pkcs1(rsa, 'sha512'),
  pkcs1(rsa3072, 'sha384'),
  pss(rsa, 'sha256', 'sha256', 32),
  pss(rsa, 'sha256', 'sha1', 20),
  pss(rsa, 'sha256', 'sha512', 0),
  pss(rsa, 'sha512', 'sha256', 180),
  pss(oddRsa, 'sha384', 'sha384', 48),
  pss(rsa3072, 'sha512', 'sha512', 64),
  ecdsa('P-256', 'sha256'),
  ecdsa('P-256', 'sha512'),
  ecdsa('P-384', 'sha384'),
  ecdsa('P-521', 'sha512'),
  ecdsa('P-521', 'sha256'),
  {
    name: 'Ed25519',
    algorithm: { scheme: 'EDDSA' },
    key: edwards,
    right: (message) => sign(null, message, edwards),
    wrong: (message) => badEd25519Values(edwards, message),
  },
];
const message = Buffer.from('a message');

describe.each(kinds)('a value of $name', ({ algorithm, key, right, wrong }) => {
  const publicKey = createPublicKey(key);

  it.each(places.filter(({ takes }) => takes(algorithm)))('$name holds where it is right, and in no other form', (place) => {
    const signed = place.toBeSigned(publicKey, algorithm, message);
    expect(place.verifies(publicKey, algorithm, signed, right(signed))).toBe(true);
    const values = Object.entries(wrong(signed));
    expect(values.length).toBeGreaterThan(20);
    expect(values.filter(([, value]) => place.verifies(publicKey, algorithm, signed, value)).map(([name]) => name)).toEqual([]);
  });
});

describe('a value for the public exponent 3 that no private key made', () => {
  const hash = 'sha256';
  const algorithm = { scheme: 'RSA_PKCS1', hash } as const;
  const publicKeys = new Map<number, KeyObject>();

  it.each(
    [2048, 3072, 4096].flatMap((bits) => places.filter(({ takes }) => takes(algorithm)).map((place) => [bits, place.name, place] as const)),
  )('holds nowhere: %d bits, %s', (bits, _name, place) => {
    const publicKey = publicKeys.get(bits) ?? createPublicKey(rsaKey(bits, 3));
    publicKeys.set(bits, publicKey);
    const signed = place.toBeSigned(publicKey, algorithm, message);
    const forged = forgedByCubeRoot(bits / 8, hashOids[hash], createHash(hash).update(signed).digest());
    expect(place.verifies(publicKey, algorithm, signed, forged)).toBe(false);
  });
});
