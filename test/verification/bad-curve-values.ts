import { sign, type KeyObject } from 'node:crypto';
import * as der from '../../src/asn1/der.ts';
import { children, readAll } from '../../src/asn1/reader.ts';
import type { HashName } from '../../src/token/signature-algorithm.ts';
import type { Values } from './bad-rsa-values.ts';

/** The order of the group, and the prime of the field (FIPS 186-5, SP 800-186 §3.2.1). */
const curves = {
  prime256v1: {
    order: 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n,
    prime: 2n ** 256n - 2n ** 224n + 2n ** 192n + 2n ** 96n - 1n,
  },
  secp384r1: {
    order: 0xffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973n,
    prime: 2n ** 384n - 2n ** 128n - 2n ** 96n + 2n ** 32n - 1n,
  },
  secp521r1: {
    order:
      0x01fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffa51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409n,
    prime: 2n ** 521n - 1n,
  },
} as const;

/** Octets of an INTEGER that is not in the fewest of them. */
const padded = (value: Uint8Array, zeros: number): Uint8Array => {
  const { content } = readAll(value);
  return der.tagged(0x02, Buffer.alloc(zeros), content);
};
/** The same element with its length in more octets than it needs. */
const longLength = (element: Uint8Array, octets: number): Uint8Array => {
  const { content } = readAll(element);
  const length = Buffer.alloc(octets);
  length.writeUIntBE(content.length, 0, octets);
  return Buffer.concat([Buffer.of(element[0] ?? 0, 0x80 + octets), length, content]);
};

/** Of ECDSA (FIPS 186-5 §6.4.2) over a message, and the one encoding of ECDSA-Sig-Value that there is. */
export function badEcdsaValues(key: KeyObject, hash: HashName, message: Uint8Array): Values {
  const curve = key.asymmetricKeyDetails?.namedCurve;
  if (curve !== 'prime256v1' && curve !== 'secp384r1' && curve !== 'secp521r1') throw new RangeError('a curve that is not known here');
  const { order, prime } = curves[curve];
  const right = sign(hash, message, key);
  const [rPart, sPart] = children(readAll(right));
  if (rPart === undefined || sPart === undefined) throw new RangeError('no value');
  const [r, s] = [rPart, sPart].map(({ content }) => BigInt(`0x${Buffer.from(content).toString('hex')}`));
  if (r === undefined || s === undefined) throw new RangeError('no value');
  const of = (...numbers: readonly bigint[]): Uint8Array => der.sequence(...numbers.map((one) => der.integer(one)));
  const [rDer, sDer] = [der.integer(r), der.integer(s)];
  const edges = {
    '0': 0n,
    '1': 1n,
    '-1': -1n,
    n: order,
    'n-1': order - 1n,
    'n+1': order + 1n,
    p: prime,
    'p+1': prime + 1n,
    '2^1024': 2n ** 1024n,
  };
  const special = Object.entries(edges).flatMap(([rName, one]) => [
    [`r is ${rName}`, of(one, s)] as const,
    [`s is ${rName}`, of(r, one)] as const,
    ...Object.entries(edges).map(([sName, other]) => [`r is ${rName}, s is ${sName}`, of(one, other)] as const),
  ]);
  return {
    ...Object.fromEntries(special),
    'r with n added': of(r + order, s),
    's with n added': of(r, s + order),
    'both with n added': of(r + order, s + order),
    'r less n': of(r - order, s),
    's less n': of(r, s - order),
    'r negative': of(-r, s),
    's negative': of(r, -s),
    'r and s exchanged': of(s, r),
    'r with 2^1024 added': of(r + 2n ** 1024n * order, s),
    'r with a zero before it': der.sequence(padded(rDer, 1), sDer),
    's with a zero before it': der.sequence(rDer, padded(sDer, 1)),
    'r with many zeros before it': der.sequence(padded(rDer, 40), sDer),
    'r without its sign': der.sequence(der.tagged(0x02, Buffer.of(0xff), readAll(rDer).content), sDer),
    'r with a long length': der.sequence(longLength(rDer, 1), sDer),
    's with a long length': der.sequence(rDer, longLength(sDer, 2)),
    'a long length': longLength(right, right.length < 0x82 ? 1 : 2),
    'a longer length': longLength(right, 4),
    'a length to its end': Buffer.concat([Buffer.of(0x30, 0x80), readAll(right).content, Buffer.of(0, 0)]),
    'a third number': of(r, s, 0n),
    'a NULL behind the numbers': der.sequence(rDer, sDer, der.nullValue()),
    'a NULL before the numbers': der.sequence(der.nullValue(), rDer, sDer),
    'octets behind it': Buffer.concat([right, Buffer.of(0)]),
    'another one behind it': Buffer.concat([right, right]),
    'without its last octet': right.subarray(0, -1),
    'without its first octet': right.subarray(1),
    'r alone': of(r),
    'an empty SEQUENCE': der.sequence(),
    'no octets': new Uint8Array(),
    'numbers in a SET': der.set(rDer, sDer),
    'numbers with no SEQUENCE': Buffer.concat([rDer, sDer]),
    'numbers in one more SEQUENCE': der.sequence(right),
    'numbers as OCTET STRINGs': der.sequence(der.octetString(readAll(rDer).content), der.octetString(readAll(sDer).content)),
    'empty numbers': der.sequence(der.tagged(0x02), der.tagged(0x02)),
    'NULL for a number': der.sequence(der.nullValue(), sDer),
    'of another message': sign(hash, Buffer.from('another'), key),
    'of another hash': sign(hash === 'sha256' ? 'sha384' : 'sha256', message, key),
  };
}

/** The order of the group of Ed25519 (RFC 8032 §5.1). */
const edwardsOrder = 2n ** 252n + 27742317777372353535851937790883648493n;

/** Of Ed25519 over a message: R and S in 32 octets each, S below the order (RFC 8032 §5.1.7). */
export function badEd25519Values(key: KeyObject, message: Uint8Array): Values {
  const right = sign(null, message, key);
  const [R, S] = [right.subarray(0, 32), right.subarray(32)];
  const s = BigInt(`0x${Buffer.from(S.toReversed()).toString('hex')}`);
  const withS = (value: bigint): Buffer => Buffer.concat([R, Buffer.from(value.toString(16).padStart(64, '0'), 'hex').toReversed()]);
  const multiples = Array.from({ length: 14 }, (_, index) => s + BigInt(index + 1) * edwardsOrder).filter((one) => one < 2n ** 256n);
  return {
    ...Object.fromEntries(multiples.map((one, index) => [`S with the order added ${index + 1} times`, withS(one)])),
    'S negated': withS(edwardsOrder - s),
    'S is zero': withS(0n),
    'S is one': withS(1n),
    'S is the order': withS(edwardsOrder),
    'S is the order less one': withS(edwardsOrder - 1n),
    'S is all ones': withS(2n ** 256n - 1n),
    'R is zero': Buffer.concat([Buffer.alloc(32), S]),
    'R is one': Buffer.concat([Buffer.of(1), Buffer.alloc(31), S]),
    'R is all ones': Buffer.concat([Buffer.alloc(32, 0xff), S]),
    'R with its other sign': Buffer.concat([R.subarray(0, 31), Buffer.of((R[31] ?? 0) ^ 0x80), S]),
    'R and S exchanged': Buffer.concat([S, R]),
    'all zero': Buffer.alloc(64),
    'no octets': new Uint8Array(),
    'R alone': R,
    'S alone': S,
    'without its last octet': right.subarray(0, -1),
    'with an octet behind it': Buffer.concat([right, Buffer.of(0)]),
    twice: Buffer.concat([right, right]),
    'in DER': der.octetString(right),
    'of another message': sign(null, Buffer.from('another'), key),
  };
}
