import { oids } from '../asn1/object-identifiers.ts';
import { children, DerError, readObjectIdentifier, type DerElement } from '../asn1/reader.ts';
import { expectTag } from '../asn1/sequence-fields.ts';
import type { HashName } from '../token/signature-algorithm.ts';
import type { DataAlgorithm } from '../verification/verify-value.ts';

/** Supported hashes, including outdated ones, so that old signatures can be verified. */
export type KnownHash = HashName | 'sha224';

type HashTable = Readonly<Record<KnownHash, string>>;

export const hashOids = {
  sha1: oids.sha1,
  sha224: oids.sha224,
  sha256: oids.sha256,
  sha384: oids.sha384,
  sha512: oids.sha512,
} as const satisfies HashTable;

/** RSASSA-PKCS1-v1_5 with a hash (RFC 4055 §5). */
export const rsaOids = {
  sha1: oids.sha1WithRSAEncryption,
  sha224: oids.sha224WithRSAEncryption,
  sha256: oids.sha256WithRSAEncryption,
  sha384: oids.sha384WithRSAEncryption,
  sha512: oids.sha512WithRSAEncryption,
} as const satisfies HashTable;

/** ECDSA with a hash (RFC 5758 §3.2). */
export const ecdsaOids = {
  sha1: oids.ecdsaWithSHA1,
  sha224: oids.ecdsaWithSHA224,
  sha256: oids.ecdsaWithSHA256,
  sha384: oids.ecdsaWithSHA384,
  sha512: oids.ecdsaWithSHA512,
} as const satisfies HashTable;

/** DSA with a hash (RFC 3279 §2.2.2, RFC 5758 §3.1), for old certificates and their CRLs. */
const dsaOids = {
  sha1: oids.dsaWithSHA1,
  sha224: oids.dsaWithSHA224,
  sha256: oids.dsaWithSHA256,
  sha384: oids.dsaWithSHA384,
  sha512: oids.dsaWithSHA512,
} as const satisfies HashTable;

const hashes = reversed(hashOids);
const rsaHashes = reversed(rsaOids);
const ecdsaHashes = reversed(ecdsaOids);
const dsaHashes = reversed(dsaOids);

/** Content of a signature's AlgorithmIdentifier. */
export type SignatureIdentifier =
  /**
   * `hash` is undefined if only the key's algorithm is named; the format then defines the hash
   * (CMS: RFC 3370 §3.2).
   */
  | { readonly scheme: 'RSA_PKCS1' | 'ECDSA'; readonly hash: KnownHash | undefined }
  | { readonly scheme: 'DSA'; readonly hash: KnownHash }
  | { readonly scheme: 'RSA_PSS'; readonly hash: KnownHash; readonly mgfHash: KnownHash; readonly saltBytes: number }
  /** Ed25519, Ed448: signs the message itself, not a digest. */
  | { readonly scheme: 'EDDSA' };

/** Returns the hash named by an OID. */
export function knownHash(oid: string): KnownHash | undefined {
  return hashes.get(oid);
}

/**
 * Returns the hash named by an AlgorithmIdentifier; its parameters (NULL or absent) are ignored.
 * @throws {DerError}
 */
export function readHashIdentifier(identifier: DerElement): KnownHash | undefined {
  const [oid] = children(identifier);
  return oid === undefined ? undefined : knownHash(readObjectIdentifier(oid));
}

/**
 * Reads the AlgorithmIdentifier of a signature: RSA (RFC 4055), RSASSA-PSS with its parameters,
 * ECDSA and DSA (RFC 5758), Ed25519 and Ed448 (RFC 8410). Undefined if the algorithm, or a hash in
 * its parameters, is unknown.
 * @throws {DerError} for anything but an AlgorithmIdentifier
 */
export function readSignatureIdentifier(identifier: DerElement): SignatureIdentifier | undefined {
  const [type, parameters] = children(expectTag(identifier, 0x30));
  if (type === undefined) throw new DerError('AlgorithmIdentifier without an OID', identifier.start);
  const oid = readObjectIdentifier(type);
  const rsaHash = rsaHashes.get(oid);
  if (rsaHash !== undefined || oid === oids.rsaEncryption) return { scheme: 'RSA_PKCS1', hash: rsaHash };
  const ecdsaHash = ecdsaHashes.get(oid);
  if (ecdsaHash !== undefined || oid === oids.ecPublicKey) return { scheme: 'ECDSA', hash: ecdsaHash };
  const dsaHash = dsaHashes.get(oid);
  if (dsaHash !== undefined) return { scheme: 'DSA', hash: dsaHash };
  if (oid === oids.ed25519 || oid === oids.ed448) return { scheme: 'EDDSA' };
  // RFC 4055 §3.1: the parameters may be absent for a key, but not for a signature.
  return oid === oids.rsassaPss && parameters !== undefined ? readPssParameters(parameters) : undefined;
}

/** Reads RSASSA-PSS-params (RFC 4055 §3.1); the defaults are SHA-1, MGF1 with SHA-1, 20, 1. */
function readPssParameters(parameters: DerElement): SignatureIdentifier | undefined {
  const members = new Map(children(expectTag(parameters, 0x30)).map((member) => [member.tag, children(member)[0]]));
  const generation = members.get(0xa1);
  const hash = hashOrDefault(members.get(0xa0));
  const mgfHash = hashOrDefault(generation === undefined ? undefined : children(generation)[1]);
  if (hash === undefined || mgfHash === undefined) return undefined;
  const salt = members.get(0xa2);
  const trailer = members.get(0xa3);
  if (trailer !== undefined && !(trailer.tag === 0x02 && trailer.content.length === 1 && trailer.content[0] === 1)) return undefined;
  return { scheme: 'RSA_PSS', hash, mgfHash, saltBytes: salt === undefined ? 20 : readSaltBytes(salt) };
}

function hashOrDefault(identifier: DerElement | undefined): KnownHash | undefined {
  return identifier === undefined ? 'sha1' : readHashIdentifier(identifier);
}

function readSaltBytes({ tag, content, start }: DerElement): number {
  if (tag !== 0x02 || content.length === 0 || content.length > 2 || (content[0] ?? 0) >= 0x80)
    throw new DerError('invalid salt length', start);
  return content.reduce((sum, octet) => sum * 256 + octet, 0);
}

function reversed(table: HashTable): ReadonlyMap<string, KnownHash> {
  const { sha1, sha224, sha256, sha384, sha512 } = table;
  return new Map<string, KnownHash>([
    [sha1, 'sha1'],
    [sha224, 'sha224'],
    [sha256, 'sha256'],
    [sha384, 'sha384'],
    [sha512, 'sha512'],
  ]);
}

/**
 * Returns the verification algorithm for the AlgorithmIdentifier of a CRL, OCSP response or
 * certificate signature (RFC 5280 §4.1.1.2).
 * @throws {DerError} for unsupported algorithms, and those that do not name a hash
 */
export function verificationRule(identifier: DerElement): DataAlgorithm {
  const named = readSignatureIdentifier(identifier);
  if (named?.scheme === 'EDDSA' || named?.scheme === 'RSA_PSS') return named;
  if (named?.hash === undefined) throw new DerError('unsupported signature algorithm', identifier.start);
  return { scheme: named.scheme, hash: named.hash };
}
