import * as der from '../asn1/der.ts';
import { oids } from '../asn1/object-identifiers.ts';
import { children, readObjectIdentifier, type DerElement } from '../asn1/reader.ts';
import { hashNames, type HashName, type SignatureAlgorithm } from '../token/signature-algorithm.ts';

const hashOids = { sha1: oids.sha1, sha256: oids.sha256, sha384: oids.sha384, sha512: oids.sha512 } as const satisfies Record<
  HashName,
  string
>;
const rsaOids = {
  sha1: '1.2.840.113549.1.1.5',
  sha256: oids.sha256WithRSAEncryption,
  sha384: oids.sha384WithRSAEncryption,
  sha512: oids.sha512WithRSAEncryption,
} as const satisfies Record<HashName, string>;
const ecdsaOids = {
  sha1: '1.2.840.10045.4.1',
  sha256: oids.ecdsaWithSHA256,
  sha384: oids.ecdsaWithSHA384,
  sha512: oids.ecdsaWithSHA512,
} as const satisfies Record<HashName, string>;

/** The hash that an OID names. */
export function hashOfOid(oid: string): HashName | undefined {
  return Object.entries(hashOids).find(([, value]) => value === oid)?.[0] as HashName | undefined;
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

/** The algorithm that a signatureAlgorithmOid names; PSS has its parameters elsewhere. */
export function algorithmOfOid(oid: string): { scheme: 'RSA_PKCS1' | 'ECDSA'; hash: HashName } | { scheme: 'RSA_PSS' } | undefined {
  if (oid === oids.rsassaPss) return { scheme: 'RSA_PSS' };
  for (const hash of ['sha256', 'sha384', 'sha512'] as const) {
    if (rsaOids[hash] === oid) return { scheme: 'RSA_PKCS1', hash };
    if (ecdsaOids[hash] === oid) return { scheme: 'ECDSA', hash };
  }
  return undefined;
}

/**
 * The algorithm of a SignerInfo's value (RFC 5652 §5.3, signatureAlgorithm), SHA-1 included, for verification alone: undefined where it is not known. An
 * identifier that names no hash goes by that of the digest.
 */
export function readSignatureAlgorithm(identifier: DerElement, digestHash: HashName): SignatureAlgorithm | undefined {
  const [oidElement, parameters] = children(identifier);
  if (oidElement === undefined) return undefined;
  const oid = readObjectIdentifier(oidElement);
  if (oid === oids.rsaEncryption) return { scheme: 'RSA_PKCS1', hash: digestHash };
  if (oid === oids.ecPublicKey) return { scheme: 'ECDSA', hash: digestHash };
  if (oid === oids.rsassaPss) return parameters === undefined ? undefined : readPssParameters(parameters);
  const rsa = hashNames.find((hash) => rsaOids[hash] === oid);
  if (rsa !== undefined) return { scheme: 'RSA_PKCS1', hash: rsa };
  const ecdsa = hashNames.find((hash) => ecdsaOids[hash] === oid);
  return ecdsa === undefined ? undefined : { scheme: 'ECDSA', hash: ecdsa };
}

/** RSASSA-PSS-params with its defaults (RFC 4055 §3.1). */
function readPssParameters(parameters: DerElement): SignatureAlgorithm | undefined {
  const fields = new Map(children(parameters).map((field) => [field.tag, children(field)[0]]));
  const generation = fields.get(0xa1);
  const hash = readHash(fields.get(0xa0));
  const mgfHash = readHash(generation === undefined ? undefined : children(generation)[1]);
  const salt = fields.get(0xa2)?.content ?? Uint8Array.of(20);
  if (hash === undefined || mgfHash === undefined || salt.length > 2) return undefined;
  return { scheme: 'RSA_PSS', hash, mgfHash, saltBytes: salt.reduce((number, octet) => number * 256 + octet, 0) };
}

function readHash(identifier: DerElement | undefined): HashName | undefined {
  if (identifier === undefined) return 'sha1';
  const [oid] = children(identifier);
  return oid === undefined ? undefined : hashOfOid(readObjectIdentifier(oid));
}

/** AlgorithmIdentifier of a hash: no parameters (RFC 5754 §2). */
export function hashAlgorithmIdentifier(hash: HashName): Uint8Array {
  return der.sequence(der.oid(hashOids[hash]));
}

/** AlgorithmIdentifier of a signature: NULL for RSA (RFC 4055 §5), none for ECDSA (RFC 5758 §3.2), parameters for PSS (RFC 4055 §3.1). */
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

/** RSASSA-PSS-params; members that have their default (SHA-1, 20, 1) are left out, as DER wants. Hash identifiers carry NULL (RFC 4055 §2.1). */
function pssParameters({ hash, mgfHash, saltBytes }: Extract<SignatureAlgorithm, { scheme: 'RSA_PSS' }>): Uint8Array {
  const withNull = (name: HashName): Uint8Array => der.sequence(der.oid(hashOids[name]), der.nullValue());
  return der.sequence(
    ...(hash === 'sha1' ? [] : [der.explicit(0, withNull(hash))]),
    ...(mgfHash === 'sha1' ? [] : [der.explicit(1, der.sequence(der.oid(oids.mgf1), withNull(mgfHash)))]),
    ...(saltBytes === 20 ? [] : [der.explicit(2, der.integer(saltBytes))]),
  );
}

/** The OID that names a hash. */
export function hashAlgorithmOid(hash: HashName): string {
  return hashOids[hash];
}
