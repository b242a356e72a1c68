import { createHash } from 'node:crypto';
import { bytesBetween, bytesInMemory } from '../../asn1/byte-source.ts';
import * as der from '../../asn1/der.ts';
import { children, DerError, readAll, readObjectIdentifier, type DerElement } from '../../asn1/reader.ts';
import type { MessageImprint } from '../../timestamp/request.ts';
import type { HashName } from '../../token/signature-algorithm.ts';
import { hashAlgorithmIdentifier, hashOfOid } from '../../cms/algorithm-identifier.ts';
import type { Additions } from '../levels/long-term-data.ts';
import { readSignedData } from '../../cms/read-signed-data.ts';
import { setWith, signedData } from '../../cms/signed-data.ts';

const attributeTypes = {
  signatureTimeStamp: '1.2.840.113549.1.9.16.2.14',
  archiveTimeStampV3: '0.4.0.1733.2.4',
  hashIndexV3: '0.4.0.19122.1.5',
} as const;
const ocspRevocationInfo = '1.3.6.1.5.5.7.16.2';

/** Parts that the higher levels add to a SignedData (EN 319 122-1 §6.3). */
export interface AddedParts {
  /** Attributes of the SignerInfo in DER. */
  readonly unsignedAttributes: readonly Uint8Array[];
  readonly certificates: readonly Uint8Array[];
  /** RevocationInfoChoice in DER. */
  readonly revocationData: readonly Uint8Array[];
}

/**
 * Returns the parts that a level adds: the signature time-stamp (EN 319 122-1 §5.3) and the archive
 * time-stamp as unsigned attributes; certificates and revocation data in SignedData itself, OCSP
 * answers as in RFC 5940 §2.2.
 */
export function addedParts(additions: Additions | undefined): AddedParts {
  if (additions === undefined) return { unsignedAttributes: [], certificates: [], revocationData: [] };
  const { timeStamp, longTermData, archive } = additions;
  const { certificates = [], crls = [], ocspAnswers = [] } = longTermData ?? {};
  const answers = ocspAnswers.map((answer) => der.implicitConstructed(1, der.concat(der.oid(ocspRevocationInfo), answer)));
  return {
    unsignedAttributes: [signatureTimeStamp(timeStamp), ...(archive === undefined ? [] : [archive])],
    certificates,
    revocationData: [...crls, ...answers],
  };
}

/**
 * Returns the attribute with the token of the time-stamp over the signature value (EN 319 122-1
 * §5.3).
 */
export function signatureTimeStamp(token: Uint8Array): Uint8Array {
  return attribute(attributeTypes.signatureTimeStamp, token);
}

/** Returns a SignerInfo with unsigned attributes after its own fields (RFC 5652 §5.3). */
export function withUnsignedAttributes(signerInfo: Uint8Array, attributes: readonly Uint8Array[]): Uint8Array {
  if (attributes.length === 0) return signerInfo;
  return der.sequence(readAll(signerInfo).content, der.implicitConstructed(1, der.concat(...setWith([], attributes))));
}

export interface ArchiveTimeStampInput {
  /** Dotted text. */
  readonly contentType: string;
  /** Digest of the content by `hash`. */
  readonly contentDigest: Uint8Array;
  /** SignerInfo without unsigned attributes. */
  readonly signerInfo: Uint8Array;
  /** All certificates and revocation data that the SignedData will have. */
  readonly certificates: readonly Uint8Array[];
  readonly revocationData: readonly Uint8Array[];
  readonly unsignedAttributes: readonly Uint8Array[];
  readonly hash: HashName;
}

/**
 * Returns what an archive-time-stamp-v3 attribute covers, with the index of the parts (EN 319 122-1
 * §5.5.3).
 */
export function archiveImprint(input: ArchiveTimeStampInput): MessageImprint & { readonly index: Uint8Array } {
  const index = hashIndex(input);
  return { hash: input.hash, value: archiveDigest(input, index), index };
}

/**
 * Returns an archive-time-stamp-v3 attribute (EN 319 122-1 §5.5.3): the token with the index of the
 * parts that it covers.
 */
export function archiveTimeStamp(token: Uint8Array, index: Uint8Array): Uint8Array {
  return attribute(attributeTypes.archiveTimeStampV3, tokenWithIndex(token, index));
}

/**
 * Returns the message imprint (EN 319 122-1 §5.5.3): the hash of content type, digest of the
 * content, the fields of the SignerInfo, the index.
 */
export function archiveDigest(
  { contentType, contentDigest, signerInfo, hash }: Pick<ArchiveTimeStampInput, 'contentType' | 'contentDigest' | 'signerInfo' | 'hash'>,
  index: Uint8Array,
): Uint8Array {
  return createHash(hash).update(der.oid(contentType)).update(contentDigest).update(readAll(signerInfo).content).update(index).digest();
}

/**
 * Returns ATSHashIndexV3 (EN 319 122-1 §5.5.2): hashes of each certificate, each revocation
 * information, and each value of an unsigned attribute with its type.
 */
function hashIndex({ certificates, revocationData, unsignedAttributes, hash }: ArchiveTimeStampInput): Uint8Array {
  const hashed = (...parts: readonly Uint8Array[]): Uint8Array => {
    const digest = createHash(hash);
    for (const part of parts) digest.update(part);
    return der.octetString(digest.digest());
  };
  const values = unsignedAttributes.flatMap((one) => {
    const [type, list] = children(readAll(one));
    return type === undefined || list === undefined ? [] : children(list).map(({ raw }) => hashed(type.raw, raw));
  });
  return der.sequence(
    hashAlgorithmIdentifier(hash),
    der.sequence(...certificates.map((one) => hashed(one))),
    der.sequence(...revocationData.map((one) => hashed(one))),
    der.sequence(...values),
  );
}

/**
 * Adds the index to the token as an unsigned attribute of its only signer. The imprint covers it;
 * no signature does.
 */
function tokenWithIndex(token: Uint8Array, index: Uint8Array): Uint8Array {
  const source = bytesInMemory(token);
  const data = readSignedData(source);
  const [signerInfo, ...others] = data.signerInfos;
  if (signerInfo === undefined || others.length > 0) throw new Error('a time-stamp has one signer');
  const fields = children(readAll(signerInfo));
  const unsigned = fields.filter(({ tag }) => tag === 0xa1).flatMap((field) => children(field).map(({ raw }) => raw));
  const own = fields.filter(({ tag }) => tag !== 0xa1).map(({ raw }) => raw);
  const indexed = withUnsignedAttributes(der.sequence(...own), [...unsigned, attribute(attributeTypes.hashIndexV3, index)]);
  const content = data.content?.map(({ start, end }) => bytesBetween(source, start, end));
  const pieces = signedData({ ...data, content, signerInfos: [indexed] });
  return der.concat(...pieces.filter((piece) => piece instanceof Uint8Array));
}

function attribute(type: string, value: Uint8Array): Uint8Array {
  return der.sequence(der.oid(type), der.set(value));
}

/** Returns a SignerInfo without its unsigned attributes. */
export function withoutUnsignedAttributes(signerInfo: Uint8Array): Uint8Array {
  return der.sequence(
    ...children(readAll(signerInfo))
      .filter(({ tag }) => tag !== 0xa1)
      .map(({ raw }) => raw),
  );
}

/** Returns the unsigned attributes of a SignerInfo, each in DER. */
export function unsignedAttributesOf(signerInfo: Uint8Array): Uint8Array[] {
  const list = children(readAll(signerInfo)).find(({ tag }) => tag === 0xa1);
  return list === undefined ? [] : children(list).map(({ raw }) => raw);
}

/** Hashes of the parts that an archive time-stamp covers (ATSHashIndexV3). */
export interface HashIndex {
  /** DER of the attribute value. */
  readonly der: Uint8Array;
  readonly hash: HashName;
  readonly certificates: readonly Uint8Array[];
  readonly revocationData: readonly Uint8Array[];
  /** Hashes of an attribute's type with one of its values. */
  readonly attributeValues: readonly Uint8Array[];
}

/** Returns the hash index of an archive time-stamp; undefined if it has none. @throws {DerError} */
export function readHashIndex(token: Uint8Array): HashIndex | undefined {
  const [signerInfo] = readSignedData(bytesInMemory(token)).signerInfos;
  const [value] = signerInfo === undefined ? [] : unsignedValues(signerInfo, 'hashIndexV3');
  if (value === undefined) return undefined;
  const [algorithm, certificates, revocationData, attributeValues] = children(readAll(value));
  const [oid] = algorithm === undefined ? [] : children(algorithm);
  const hash = oid === undefined ? undefined : hashOfOid(readObjectIdentifier(oid));
  if (hash === undefined || attributeValues === undefined) throw new DerError('not a hash index', 0);
  const hashes = (list: DerElement | undefined): Uint8Array[] => (list === undefined ? [] : children(list).map(({ content }) => content));
  return {
    der: value,
    hash,
    certificates: hashes(certificates),
    revocationData: hashes(revocationData),
    attributeValues: hashes(attributeValues),
  };
}

/** Returns the values of an unsigned attribute of a SignerInfo, in DER. */
export function unsignedValues(signerInfo: Uint8Array, type: keyof typeof attributeTypes): Uint8Array[] {
  const list = children(readAll(signerInfo)).find(({ tag }) => tag === 0xa1);
  return (list === undefined ? [] : children(list)).flatMap((one) => {
    const [oid, values] = children(one);
    const isIt = oid !== undefined && readObjectIdentifier(oid) === attributeTypes[type];
    return isIt && values !== undefined ? children(values).map(({ raw }) => raw) : [];
  });
}
