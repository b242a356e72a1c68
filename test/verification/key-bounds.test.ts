import { generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import * as der from '../../src/asn1/der.ts';
import { oids } from '../../src/asn1/object-identifiers.ts';
import { keyFault } from '../../src/verification/key-bounds.ts';
import { readPublicKey } from '../../src/verification/public-key.ts';
import { dataVerifies } from '../../src/verification/verify-value.ts';
import { rsaPublicKey } from '../support/forged-values.ts';

const spkiOf = (key: KeyObject): Buffer => key.export({ type: 'spki', format: 'der' });
const modulus = (bits: number): Buffer => Buffer.alloc(bits / 8, 0xc5);
const curve = (namedCurve: string, paramEncoding: 'named' | 'explicit' = 'named'): Buffer =>
  spkiOf(generateKeyPairSync('ec', { namedCurve, paramEncoding }).publicKey);
const rsaWith = (key: Uint8Array, ...parameters: readonly Uint8Array[]): Uint8Array =>
  der.sequence(der.sequence(der.oid(oids.rsaEncryption), ...parameters), der.bitString(key));
const [n, e] = [der.integer(modulus(2048)), der.integer(65_537)];

describe('a key', () => {
  it.each([
    ['RSA of 8192 bits', rsaPublicKey(modulus(8192), 65_537n)],
    ['RSA with an exponent of 3', rsaPublicKey(modulus(2048), 3n)],
    ['RSA with an exponent of 32 bits', rsaPublicKey(modulus(4096), 2n ** 32n - 1n)],
    ['RSA without parameters', rsaWith(der.sequence(n, e))],
    ['RSA for RSASSA-PSS', spkiOf(generateKeyPairSync('rsa-pss', { modulusLength: 2048 }).publicKey)],
    ...['P-224', 'P-256', 'P-384', 'P-521', 'secp256k1', 'brainpoolP256r1', 'brainpoolP512r1', 'brainpoolP384t1'].map(
      (name) => [name, curve(name)] as const,
    ),
    ['DSA of 3072 bits', spkiOf(generateKeyPairSync('dsa', { modulusLength: 3072, divisorLength: 256 }).publicKey)],
    ['Ed25519', spkiOf(generateKeyPairSync('ed25519').publicKey)],
    ['Ed448', spkiOf(generateKeyPairSync('ed448').publicKey)],
  ] as const)('of usual form and size is verified: %s', (_name, spki) => {
    expect(keyFault(spki)).toBeUndefined();
    expect(readPublicKey(spki).type).toBe('public');
  });

  it.each([
    ['RSA of 8200 bits', rsaPublicKey(modulus(8200), 65_537n), 'is an RSA key of 8200 bits, more than 8192'],
    ['RSA of 8193 bits', rsaPublicKey(Buffer.concat([Buffer.of(1), modulus(8192)]), 65_537n), 'is an RSA key of 8193 bits'],
    ['RSA of 16384 bits', rsaPublicKey(modulus(16_384), 65_537n), 'is an RSA key of 16384 bits'],
    ['an exponent of 33 bits', rsaPublicKey(modulus(2048), 2n ** 32n + 1n), 'public exponent of 33 bits, more than 32'],
    ['an exponent of 64 bits', rsaPublicKey(modulus(2048), 2n ** 64n - 1n), 'public exponent of 64 bits'],
    [
      'an exponent as long as the modulus',
      rsaPublicKey(modulus(2048), BigInt(`0x${modulus(2048).toString('hex')}`)),
      'exponent of 2048 bits',
    ],
    ['an even exponent', rsaPublicKey(modulus(2048), 65_538n), 'even'],
    ['an exponent of one', rsaPublicKey(modulus(2048), 1n), 'even or one'],
    ['an exponent of zero', rsaPublicKey(modulus(2048), 0n), 'not built'],
    ['an even modulus', rsaPublicKey(Buffer.alloc(256, 0xc4), 65_537n), 'even modulus'],
    ['a third prime or anything else beside the two numbers', rsaWith(der.sequence(n, e, der.integer(3)), der.nullValue()), 'not built'],
    ['one number', rsaWith(der.sequence(n), der.nullValue()), 'not built'],
    ['a negative modulus', rsaWith(der.sequence(der.tagged(0x02, modulus(2048)), e), der.nullValue()), 'not built'],
    [
      'a modulus with zeros before it',
      rsaWith(der.sequence(der.tagged(0x02, Buffer.concat([Buffer.of(0, 0), modulus(2048)])), e)),
      'not built',
    ],
    ['an exponent with zeros before it', rsaWith(der.sequence(n, der.tagged(0x02, Buffer.of(0, 1, 0, 1)))), 'not built'],
    ['other parameters', rsaWith(der.sequence(n, e), der.integer(1)), 'not built'],
    ['two parameters', rsaWith(der.sequence(n, e), der.nullValue(), der.nullValue()), 'not built'],
    ['explicit numbers of a curve', curve('P-256', 'explicit'), 'is on a curve that it does not name'],
    ...['P-192', 'secp192k1', 'sect571r1', 'sect571k1', 'sect163k1', 'c2tnb431r1'].map(
      (name) => [name, curve(name), 'is on a curve that this service does not know'] as const,
    ),
    ['X25519', spkiOf(generateKeyPairSync('x25519').publicKey), 'is of an algorithm that this service does not know'],
    ['nothing', new Uint8Array(), 'not built'],
    ['no sequence', der.octetString(Buffer.of(1)), 'not built'],
  ] as const)('of another form or size is not: %s', (_name, spki, fault) => {
    expect(keyFault(spki)).toContain(fault);
    expect(() => readPublicKey(spki)).toThrow(fault);
  });

  it('on a curve that is not known verifies nothing, even where another part of the house has read it', () => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-192' });
    const data = Buffer.from('signed');
    expect(dataVerifies(publicKey, { scheme: 'ECDSA', hash: 'sha256' }, data, sign('sha256', data, privateKey))).toBe(false);
  });

  it('of DSA with long numbers is refused', () => {
    const long = der.integer(Buffer.alloc(1250, 0xc5));
    const small = der.integer(Buffer.alloc(32, 0xc5));
    const dsa = (...numbers: readonly Uint8Array[]): Uint8Array =>
      der.sequence(der.sequence(der.oid('1.2.840.10040.4.1'), der.sequence(...numbers)), der.bitString(small));
    expect(keyFault(dsa(long, small, small))).toContain('DSA key of more than 3072 bits');
    expect(keyFault(dsa(small, der.integer(Buffer.alloc(33, 0xc5)), small))).toContain('DSA');
    expect(keyFault(dsa(small, small, long))).toContain('DSA');
  });
});
