import { createHash } from 'node:crypto';
import type { BerSpan } from '../../asn1/ber-cursor.ts';
import { bytesBetween, windowsBetween, type ByteSource } from '../../asn1/byte-source.ts';
import { children, DerError, readAll, readObjectIdentifier } from '../../asn1/reader.ts';
import type { Content, FileParts, FileRange } from '../../documents/content.ts';
import { Fault } from '../../faults.ts';
import { Refusal } from '../../result-codes.ts';
import type { HashName } from '../../token/signature-algorithm.ts';
import { hashOfOid } from '../../cms/algorithm-identifier.ts';
import { contentSource } from '../content-source.ts';
import { beginsAsSignedData, readSignedData, type ReadSignedData } from '../../cms/read-signed-data.ts';
import { readSignerInfo } from '../../cms/read-signer-info.ts';
import { checkSignerInfos, digestHashOf, SignatureBroken, type CoveredContent } from '../../cms/verify-signer-info.ts';

/** A SignedData with content that is to be co-signed. Its parts beside the content are as they stand in the document. */
export interface EarlierSignatures extends Omit<ReadSignedData, 'content'>, CoveredContent {
  /** The encapsulated content, wherever it lies: it is as a rule too big to be moved. */
  readonly content: readonly Content[];
  /** SHA-256 of all that stands beside the content, in base64. */
  readonly partsDigest: string;
  /** Whether digestAlgorithms names the hash, in whichever of its two forms. */
  knowsDigest(hash: HashName): boolean;
}

/** What the content is to be hashed with: for the new signature, and for those that are there where they are to be checked. */
export interface NeededHashes {
  readonly hash: HashName;
  readonly toCheck: boolean;
}

/** Certificates, revocation data, signatures: so many of each. To read or to verify one takes up to milliseconds, and levels above B read them all. */
const partsMax = 500;

/**
 * Reads a document as a SignedData with content; undefined where it is something else, a detached signature for one.
 * @throws {Refusal} DOCUMENT_INVALID for what begins as a SignedData and is none: signing it as content would hide the damage; UNSUPPORTED for more parts
 * than any honest file has
 */
export function earlierSignatures(document: Content, hashes?: NeededHashes): EarlierSignatures | undefined {
  const source = contentSource([document]);
  if (!beginsAsSignedData(source)) return undefined;
  const read = readOrRefuse(source);
  const { content: spans } = read;
  if (spans === undefined) return undefined;
  if ([read.certificates, read.revocationData, read.signerInfos].some((parts) => parts.length > partsMax)) {
    throw new Refusal('UNSUPPORTED', {
      message: `a document that is co-signed has at most ${partsMax} signatures, as many certificates and as many CRLs and OCSP answers`,
    });
  }
  return {
    ...read,
    content: contentAt(document, source, spans),
    digestBy: digests(source, spans, hashesOf(read, hashes)),
    partsDigest: partsDigest(read),
    knowsDigest: (hash) => read.digestAlgorithms.some((identifier) => hashNamed(identifier) === hash),
  };
}

/** Verifies every signature that is there: content, certificate and value. @throws {Refusal} EXISTING_SIGNATURE_INVALID */
export function checkEarlierSignatures(earlier: EarlierSignatures): void {
  try {
    checkSignerInfos(earlier.signerInfos, earlier.certificates, earlier);
  } catch (error) {
    if (!(error instanceof SignatureBroken)) throw error;
    throw new Refusal('EXISTING_SIGNATURE_INVALID', { message: `of the document's own signatures, ${error.message}`, cause: error });
  }
}

function readOrRefuse(source: ByteSource): ReadSignedData {
  try {
    return readSignedData(source);
  } catch (error) {
    if (!(error instanceof DerError)) throw error;
    throw new Refusal('DOCUMENT_INVALID', {
      message: `the document begins as a CMS SignedData and is none: ${error.message}`,
      cause: error,
    });
  }
}

function contentAt(document: Content, source: ByteSource, spans: readonly FileRange[]): Content[] {
  if (document instanceof Uint8Array) {
    const [span, ...others] = spans;
    if (others.length === 0) return span === undefined ? [] : [document.subarray(span.start, span.end)];
    return [Buffer.concat(spans.map(({ start, end }) => bytesBetween(source, start, end)))];
  }
  const bytes = spans.reduce((total, { start, end }) => total + end - start, 0);
  const parts: FileParts = { descriptor: document.descriptor, bytes, ranges: spans };
  return [parts];
}

/** The content's digests by several hashes, made in one pass when the first one is asked for. */
function digests(source: ByteSource, spans: readonly BerSpan[], usual: ReadonlySet<HashName>): (hash: HashName) => Uint8Array {
  const made = new Map<HashName, Uint8Array>();
  return (wanted) => {
    const kept = made.get(wanted);
    if (kept !== undefined) return kept;
    const hashes = Array.from(new Set([wanted, ...usual]), (name) => ({ name, hash: createHash(name) }));
    for (const { start, end } of spans) {
      for (const part of windowsBetween(source, start, end)) for (const { hash } of hashes) hash.update(part);
    }
    for (const { name, hash } of hashes) made.set(name, hash.digest());
    const digest = made.get(wanted);
    if (digest === undefined) throw new Fault('CONTENT_CHANGED');
    return digest;
  };
}

function hashesOf({ signerInfos }: ReadSignedData, needed: NeededHashes | undefined): ReadonlySet<HashName> {
  const theirs = needed?.toCheck === true ? signerInfos.map(hashOf) : [];
  return new Set([needed?.hash, ...theirs].filter((hash) => hash !== undefined));
}

/** Undefined also where it cannot be told: that is a matter of those who verify. */
function hashOf(signerInfo: Uint8Array): HashName | undefined {
  try {
    return digestHashOf(readSignerInfo(signerInfo));
  } catch (error) {
    if (error instanceof DerError) return undefined;
    throw error;
  }
}

function hashNamed(identifier: Uint8Array): HashName | undefined {
  try {
    const [oid] = children(readAll(identifier));
    return oid === undefined ? undefined : hashOfOid(readObjectIdentifier(oid));
  } catch (error) {
    if (error instanceof DerError) return undefined;
    throw error;
  }
}

function partsDigest({ digestAlgorithms, certificates, revocationData, signerInfos, contentType }: ReadSignedData): string {
  const digest = createHash('sha256').update(contentType);
  for (const part of [digestAlgorithms, certificates, revocationData, signerInfos]) {
    digest.update(`\n${part.length}`);
    for (const element of part) digest.update(`\n${element.length}\n`).update(element);
  }
  return digest.digest('base64');
}
