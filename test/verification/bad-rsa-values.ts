import { constants, createHash, privateEncrypt, sign, type KeyObject } from 'node:crypto';
import * as der from '../../src/asn1/der.ts';
import { hashOids } from '../../src/x509/signature-identifier.ts';
import { hashBytes, type HashName, type SignatureAlgorithm } from '../../src/token/signature-algorithm.ts';
import { digestInfo, paddedBlock } from '../support/forged-values.ts';

type Pss = Extract<SignatureAlgorithm, { scheme: 'RSA_PSS' }>;
/** Values by what is wrong with them. */
export type Values = Readonly<Record<string, Uint8Array>>;

/** RSA's private operation on a whole block. */
function power(key: KeyObject, block: Uint8Array): Buffer {
  return privateEncrypt({ key, padding: constants.RSA_NO_PADDING }, block);
}

const numberOf = (bytes: Uint8Array): bigint => BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
const bytesOf = (value: bigint, length: number): Buffer => {
  const digits = value.toString(16);
  return Buffer.from(digits.padStart(2 * Math.max(length, Math.ceil(digits.length / 2)), '0'), 'hex');
};
const modulusOf = (key: KeyObject): bigint => numberOf(Buffer.from(key.export({ format: 'jwk' }).n ?? '', 'base64url'));

/** A right value as no number of the right width below the modulus. */
function outOfShape(value: Buffer, modulus: bigint): Values {
  const number = numberOf(value);
  return {
    'no octets': new Uint8Array(),
    zero: Buffer.alloc(value.length),
    one: bytesOf(1n, value.length),
    'the modulus': bytesOf(modulus, value.length),
    'the modulus less one': bytesOf(modulus - 1n, value.length),
    'with the modulus added': bytesOf(number + modulus, value.length),
    negated: bytesOf(modulus - number, value.length),
    'with a zero octet before it': Buffer.concat([Buffer.of(0), value]),
    'with a zero octet behind it': Buffer.concat([value, Buffer.of(0)]),
    'without its first octet': value.subarray(1),
    'without its last octet': value.subarray(0, -1),
    twice: Buffer.concat([value, value]),
    'all ones': Buffer.alloc(value.length, 0xff),
  };
}

/** Of RSASSA-PKCS1-v1_5 (RFC 8017 §8.2) over a message. */
export function badPkcs1Values(key: KeyObject, hash: HashName, message: Uint8Array): Values {
  const bytes = (key.asymmetricKeyDetails?.modulusLength ?? 0) / 8;
  const digest = createHash(hash).update(message).digest();
  const oid = hashOids[hash];
  const right = Buffer.from(digestInfo(oid, digest));
  const identifier = der.sequence(der.oid(oid), der.nullValue());
  const octets = der.octetString(digest);
  const infos: Readonly<Record<string, Uint8Array>> = {
    'of another message': digestInfo(oid, createHash(hash).update('another').digest()),
    'of another hash': digestInfo(hashOids[hash === 'sha256' ? 'sha512' : 'sha256'], digest),
    'of a hash that is none': digestInfo('1.2.3.4', digest),
    'the digest alone': digest,
    'the digest as an OCTET STRING': octets,
    'without NULL': der.sequence(der.sequence(der.oid(oid)), octets),
    'with an empty SEQUENCE for NULL': der.sequence(der.sequence(der.oid(oid), der.sequence()), octets),
    'with a NULL that has content': der.sequence(der.sequence(der.oid(oid), der.tagged(0x05, Uint8Array.of(0))), octets),
    'with two NULLs': der.sequence(der.sequence(der.oid(oid), der.nullValue(), der.nullValue()), octets),
    'with parameters of any kind': der.sequence(der.sequence(der.oid(oid), der.octetString(Buffer.alloc(64, 0xa5))), octets),
    'with a third element': digestInfo(oid, digest, der.nullValue()),
    'with a long third element': digestInfo(oid, digest, der.octetString(Buffer.alloc(64, 0xa5))),
    'with an element before it': der.sequence(der.nullValue(), identifier, octets),
    'in the other order': der.sequence(octets, identifier),
    'in a SET': der.set(identifier, octets),
    'with octets behind it': Buffer.concat([right, Buffer.alloc(4)]),
    'with a second one behind it': Buffer.concat([right, right]),
    'with a length in the long form': Buffer.concat([Buffer.of(0x30, 0x81, right.length - 2), right.subarray(2)]),
    'with a length in the long form, and a zero': Buffer.concat([Buffer.of(0x30, 0x82, 0, right.length - 2), right.subarray(2)]),
    'with a length to its end': Buffer.concat([Buffer.of(0x30, 0x80), right.subarray(2), Buffer.of(0, 0)]),
    'with a digest in the long form': der.sequence(identifier, Buffer.concat([Buffer.of(0x04, 0x81, digest.length), digest])),
    'with a digest in parts': der.sequence(
      identifier,
      der.tagged(0x24, der.octetString(digest.subarray(0, 8)), der.octetString(digest.subarray(8))),
    ),
    'with a shorter digest': digestInfo(oid, digest.subarray(0, -1)),
    'with a longer digest': digestInfo(oid, Buffer.concat([digest, Buffer.of(0)])),
    'with a digest in a BIT STRING': der.sequence(identifier, der.bitString(digest)),
    'with nothing in it': new Uint8Array(),
  };
  const ff = bytes - right.length - 3;
  const changed = (at: number, octet: number): Buffer => {
    const block = paddedBlock(bytes, right);
    block[at] = octet;
    return block;
  };
  const blocks: Readonly<Record<string, Uint8Array>> = {
    'in a block of type 2': changed(1, 2),
    'in a block of type 0': changed(1, 0),
    'in a block with no first zero': changed(0, 1),
    'padded with something else at the begin': changed(2, 0xfe),
    'padded with something else at the end': changed(ff + 1, 0x7f),
    'padded with a zero inside': changed(10, 0),
    'with no zero behind the padding': changed(ff + 2, 0xff),
    'padded with seven octets, and octets behind it': filled(bytes, right, 7),
    'padded with eight octets, and octets behind it': filled(bytes, right, 8),
    'not padded, and octets behind it': filled(bytes, right, 0),
    'padded with zeros': Buffer.concat([Buffer.alloc(bytes - right.length), right]),
  };
  const value = sign(hash, message, key);
  const pss = { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: hashBytes[hash] };
  return {
    ...named('DigestInfo ', infos, (info) => power(key, paddedBlock(bytes, info))),
    ...named('', blocks, (block) => power(key, block)),
    ...outOfShape(value, modulusOf(key)),
    'of RSASSA-PSS': sign(hash, message, pss),
  };
}

function filled(bytes: number, info: Uint8Array, paddingBytes: number): Buffer {
  const begin = paddedBlock(bytes, info, paddingBytes);
  return Buffer.concat([begin, Buffer.alloc(bytes - begin.length)]);
}

function named(prefix: string, from: Values, make: (one: Uint8Array) => Uint8Array): Values {
  return Object.fromEntries(Object.entries(from).map(([name, one]) => [prefix + name, make(one)]));
}

/** How a block of EMSA-PSS (RFC 8017 §9.1.1) may differ from the right one. */
interface PssChange {
  readonly saltBytes?: number;
  readonly hash?: HashName;
  readonly mgfHash?: HashName;
  readonly trailer?: number;
  readonly separator?: number;
  readonly padding?: number;
  readonly zeros?: number;
  readonly topBit?: boolean;
  readonly flipped?: 'H' | 'salt';
}

function pssBlock(bits: number, algorithm: Pss, message: Uint8Array, change: PssChange): Buffer {
  const { hash, mgfHash, saltBytes } = { ...algorithm, ...change };
  const length = Math.ceil((bits - 1) / 8);
  const digest = createHash(hash).update(message).digest();
  const salt = Buffer.alloc(saltBytes, 0x5a);
  const h = createHash(hash)
    .update(Buffer.alloc(change.zeros ?? 8))
    .update(digest)
    .update(salt)
    .digest();
  if (change.flipped === 'H') h[0] = (h[0] ?? 0) ^ 1;
  const padding = Buffer.alloc(length - saltBytes - h.length - 2, change.padding ?? 0);
  if (change.flipped === 'salt') salt[0] = (salt[0] ?? 0) ^ 1;
  const db = Buffer.concat([padding, Buffer.of(change.separator ?? 1), salt]);
  const mask = mgf1(h, db.length, mgfHash);
  const masked = Buffer.from(db.map((octet, index) => octet ^ (mask[index] ?? 0)));
  masked[0] = (masked[0] ?? 0) & (0xff >> (8 * length - (bits - 1)));
  if (change.topBit === true) masked[0] |= 0x80;
  return Buffer.concat([masked, h, Buffer.of(change.trailer ?? 0xbc)]);
}

function mgf1(seed: Uint8Array, length: number, hash: HashName): Buffer {
  const blocks = Array.from({ length: Math.ceil(length / hashBytes[hash]) }, (_, index) =>
    createHash(hash)
      .update(seed)
      .update(Buffer.of(0, 0, 0, index))
      .digest(),
  );
  return Buffer.concat(blocks).subarray(0, length);
}

/** A right value of RSASSA-PSS, with any hash in MGF1. */
export function pssValue(key: KeyObject, algorithm: Pss, message: Uint8Array, change: PssChange = {}): Buffer {
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
  const block = pssBlock(bits, algorithm, message, change);
  return power(key, Buffer.concat([Buffer.alloc(Math.ceil(bits / 8) - block.length), block]));
}

/** Of RSASSA-PSS (RFC 8017 §8.1) over a message. */
export function badPssValues(key: KeyObject, algorithm: Pss, message: Uint8Array): Values {
  const { hash, mgfHash, saltBytes } = algorithm;
  const otherHash = (one: HashName): HashName => (one === 'sha256' ? 'sha384' : 'sha256');
  const changes: Readonly<Record<string, PssChange>> = {
    ...(saltBytes === 0
      ? {}
      : {
          'with a shorter salt': { saltBytes: saltBytes - 1 },
          'without a salt': { saltBytes: 0 },
          'with another salt than is hashed': { flipped: 'salt' },
        }),
    'with another hash': { hash: otherHash(hash) },
    'with another hash in MGF1': { mgfHash: otherHash(mgfHash) },
    'with the trailer of another hash': { trailer: 0xcc },
    'with no trailer': { trailer: 0 },
    'with another separator': { separator: 2 },
    'with no separator': { separator: 0 },
    'padded with something else': { padding: 0xff },
    'with fewer zeros before the digest': { zeros: 7 },
    'with no zeros before the digest': { zeros: 0 },
    'with another H': { flipped: 'H' },
  };
  return {
    ...Object.fromEntries(Object.entries(changes).map(([name, change]) => [name, pssValue(key, algorithm, message, change)])),
    ...outOfShape(pssValue(key, algorithm, message), modulusOf(key)),
    'of another message': pssValue(key, algorithm, Buffer.from('another')),
    'of RSASSA-PKCS1-v1_5': sign(hash, message, key),
    'the digest alone': power(
      key,
      Buffer.concat([
        Buffer.alloc((key.asymmetricKeyDetails?.modulusLength ?? 0) / 8 - hashBytes[hash]),
        createHash(hash).update(message).digest(),
      ]),
    ),
    // The longest salt fills the block.
    ...ifPossible('with a longer salt', () => pssValue(key, algorithm, message, { saltBytes: saltBytes + 1 })),
    // A block with the bit above it set is as often as not more than the modulus, and then no number.
    ...ifPossible('with a bit above the block', () => pssValue(key, algorithm, message, { topBit: true })),
  };
}

function ifPossible(name: string, make: () => Uint8Array): Values {
  try {
    return { [name]: make() };
  } catch {
    return {};
  }
}
