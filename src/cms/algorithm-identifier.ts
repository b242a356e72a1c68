import * as der from '../asn1/der.ts';
import { oids } from '../asn1/object-identifiers.ts';
import { children, readObjectIdentifier, type DerElement } from '../asn1/reader.ts';
import {
  ecdsaOids,
  hashOids,
  knownHash,
  readHashIdentifier,
  readSignatureIdentifier,
  rsaOids,
  type KnownHash,
} from '../x509/signature-identifier.ts';
import { hashNames, type HashName, type SignatureAlgorithm } from '../token/signature-algorithm.ts';

/** Of an OID in a message. */
const oidMaxCharacters = 64;

/** Returns the hash named by an OID. */
export function hashOfOid(oid: string): HashName | undefined {
  return supported(knownHash(oid));
}

/** Returns the hash named by an AlgorithmIdentifier. @throws {DerError} */
export function hashOfIdentifier(identifier: DerElement): HashName | undefined {
  return supported(readHashIdentifier(identifier));
}

/** Algorithms that signatures must not use any more (RFC 6149, 6150, 6151), for messages. */
const brokenNames: ReadonlyMap<string, string> = new Map([
  ['1.2.840.113549.2.2', 'MD2'],
  ['1.2.840.113549.2.4', 'MD4'],
  ['1.2.840.113549.2.5', 'MD5'],
  ['1.2.840.113549.1.1.2', 'RSA with MD2'],
  ['1.2.840.113549.1.1.3', 'RSA with MD4'],
  ['1.2.840.113549.1.1.4', 'RSA with MD5'],
]);

/** Returns an AlgorithmIdentifier that is not supported by its name or its OID. @throws {DerError} */
export function nameOfUnsupported(identifier: DerElement): string {
  const [oid] = children(identifier);
  const text = oid === undefined ? 'unnamed' : readObjectIdentifier(oid).slice(0, oidMaxCharacters);
  return brokenNames.get(text) ?? text;
}

/** Excludes SHA-224, which is supported only in certificates, CRLs and OCSP responses. */
function supported(hash: KnownHash | undefined): HashName | undefined {
  return hashNames.find((name) => name === hash);
}

export function signatureAlgorithmOid(algorithm: SignatureAlgorithm): string {
  switch (algorithm.scheme) {
    case 'RSA_PKCS1':
      return rsaOids[algorithm.hash];
    case 'RSA_PSS':
      return oids.rsassaPss;
    case 'ECDSA':
      return ecdsaOids[algorithm.hash];
  }
}

/**
 * Returns the algorithm named by an OID of `signatureAlgorithmOid`; PSS parameters are encoded
 * separately.
 */
export function algorithmOfOid(oid: string): { scheme: 'RSA_PKCS1' | 'ECDSA'; hash: HashName } | { scheme: 'RSA_PSS' } | undefined {
  if (oid === oids.rsassaPss) return { scheme: 'RSA_PSS' };
  for (const hash of ['sha256', 'sha384', 'sha512'] as const) {
    if (rsaOids[hash] === oid) return { scheme: 'RSA_PKCS1', hash };
    if (ecdsaOids[hash] === oid) return { scheme: 'ECDSA', hash };
  }
  return undefined;
}

/**
 * Reads the signature algorithm of a SignerInfo (RFC 5652 §5.3), for verification only, so SHA-1 is
 * included. Undefined if it is unknown. An identifier that names no hash uses that of the digest.
 */
export function readSignatureAlgorithm(identifier: DerElement, digestHash: HashName): SignatureAlgorithm | undefined {
  const named = readSignatureIdentifier(identifier);
  if (named === undefined || named.scheme === 'EDDSA' || named.scheme === 'DSA') return undefined;
  const hash = named.hash === undefined ? digestHash : supported(named.hash);
  if (hash === undefined) return undefined;
  if (named.scheme !== 'RSA_PSS') return { scheme: named.scheme, hash };
  const mgfHash = supported(named.mgfHash);
  return mgfHash === undefined ? undefined : { scheme: 'RSA_PSS', hash, mgfHash, saltBytes: named.saltBytes };
}

/** Returns the AlgorithmIdentifier of a hash, without parameters (RFC 5754 §2). */
export function hashAlgorithmIdentifier(hash: HashName): Uint8Array {
  return der.sequence(der.oid(hashOids[hash]));
}

/**
 * Returns the AlgorithmIdentifier of a signature, with NULL for RSA (RFC 4055 §5), no parameters
 * for ECDSA (RFC 5758 §3.2), and parameters for PSS (RFC 4055 §3.1).
 */
export function signatureAlgorithmIdentifier(algorithm: SignatureAlgorithm): Uint8Array {
  const oid = der.oid(signatureAlgorithmOid(algorithm));
  switch (algorithm.scheme) {
    case 'RSA_PKCS1':
      return der.sequence(oid, der.nullValue());
    case 'ECDSA':
      return der.sequence(oid);
    case 'RSA_PSS':
      return der.sequence(oid, pssParameters(algorithm));
  }
}

/**
 * Returns RSASSA-PSS-params; defaults (SHA-1, 20, 1) are omitted, as DER requires. Hash identifiers
 * carry NULL (RFC 4055 §2.1).
 */
function pssParameters({ hash, mgfHash, saltBytes }: Extract<SignatureAlgorithm, { scheme: 'RSA_PSS' }>): Uint8Array {
  const withNull = (name: HashName): Uint8Array => der.sequence(der.oid(hashOids[name]), der.nullValue());
  return der.sequence(
    ...(hash === 'sha1' ? [] : [der.explicit(0, withNull(hash))]),
    ...(mgfHash === 'sha1' ? [] : [der.explicit(1, der.sequence(der.oid(oids.mgf1), withNull(mgfHash)))]),
    ...(saltBytes === 20 ? [] : [der.explicit(2, der.integer(saltBytes))]),
  );
}

/** Returns the OID of a hash. */
export function hashAlgorithmOid(hash: HashName): string {
  return hashOids[hash];
}
