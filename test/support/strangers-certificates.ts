import { createPublicKey, generateKeyPairSync, randomBytes } from 'node:crypto';
import * as der from '../../src/asn1/der.ts';
import { oids } from '../../src/asn1/object-identifiers.ts';
import { hourMs } from './scratch-authority.ts';

/** What a stranger puts into a certificate; nobody signed it. */
export interface StrangersCertificate {
  readonly subject?: Uint8Array;
  readonly issuer?: Uint8Array;
  /** SubjectPublicKeyInfo. Default: a key on P-256. */
  readonly key?: Uint8Array;
  /** Extensions, beside that of a CA. */
  readonly extensions?: readonly Uint8Array[];
}

export const usualKey = generateKeyPairSync('ec', { namedCurve: 'P-256' });

export function name(...commonNames: readonly string[]): Uint8Array {
  return der.sequence(...commonNames.map((one) => der.set(der.sequence(der.oid('2.5.4.3'), der.utf8String(one)))));
}

export function extension(oid: string, value: Uint8Array): Uint8Array {
  return der.sequence(der.oid(oid), der.octetString(value));
}

/** Alternative names, all of them the same. */
export function alternativeNames(count: number): Uint8Array {
  return extension('2.5.29.17', der.sequence(...Array.from({ length: count }, () => der.implicitPrimitive(2, Buffer.from('a.b')))));
}

export function constraints(count: number): Uint8Array {
  const one = der.sequence(der.implicitPrimitive(2, Buffer.from('a.b')));
  return extension('2.5.29.30', der.sequence(der.implicitConstructed(0, der.concat(...Array.from({ length: count }, () => one)))));
}

/** A key on a curve, as OpenSSL makes it. */
export function keyOn(namedCurve: string): Uint8Array {
  return generateKeyPairSync('ec', { namedCurve }).publicKey.export({ type: 'spki', format: 'der' });
}

/** A key that nobody made: its modulus is odd and random. */
export function madeUpRsaKey(bits: number, exponent: bigint): Uint8Array {
  const modulus = randomBytes(bits / 8);
  modulus[0] = (modulus[0] ?? 0) | 0x80;
  modulus[modulus.length - 1] = (modulus.at(-1) ?? 0) | 1;
  const numbers = der.sequence(der.integer(BigInt(`0x${modulus.toString('hex')}`)), der.integer(exponent));
  return der.sequence(der.sequence(der.oid(oids.rsaEncryption), der.nullValue()), der.bitString(numbers));
}

export const usualSpki: Uint8Array = createPublicKey(usualKey.publicKey.export({ type: 'spki', format: 'pem' })).export({
  type: 'spki',
  format: 'der',
});

let serialNumber = 0;

/** A certificate in DER with a made-up signature of ECDSA. */
export function strangersCertificate({
  subject = name('subject'),
  issuer = name('issuer'),
  key = usualSpki,
  extensions = [],
}: StrangersCertificate): Uint8Array {
  const algorithm = der.sequence(der.oid(oids.ecdsaWithSHA256));
  const isCa = extension('2.5.29.19', der.sequence(der.boolean(true)));
  const tbs = der.sequence(
    der.explicit(0, der.integer(2)),
    der.integer((serialNumber += 1)),
    algorithm,
    issuer,
    der.sequence(der.time(new Date(Date.now() - hourMs)), der.time(new Date(Date.now() + hourMs))),
    subject,
    key,
    der.explicit(3, der.sequence(isCa, ...extensions)),
  );
  return der.sequence(tbs, algorithm, der.bitString(der.sequence(der.integer(2n ** 250n + 1n), der.integer(2n ** 250n + 3n))));
}

export function pemOf(certificates: readonly Uint8Array[]): string {
  return certificates
    .map((one) => `-----BEGIN CERTIFICATE-----\n${Buffer.from(one).toString('base64')}\n-----END CERTIFICATE-----\n`)
    .join('');
}

/** A client's certificate and those above it, each with this key, up to one that nobody knows. */
export function strangersChain(length: number, key?: Uint8Array): Uint8Array[] {
  return Array.from({ length }, (_, index) =>
    strangersCertificate({
      subject: name(`${index}`),
      issuer: name(`${index + 1}`),
      ...(index === 0 || key === undefined ? {} : { key }),
    }),
  );
}
