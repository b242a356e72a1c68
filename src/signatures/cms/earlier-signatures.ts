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

/**
 * A SignedData with content that is to be co-signed. Its parts other than the content are as in the
 * document.
 */
export interface EarlierSignatures extends Omit<ReadSignedData, 'content'>, CoveredContent {
  /** The encapsulated content, left where it is, since it is usually too large to copy. */
  readonly content: readonly Content[];
  /** SHA-256 of everything except the content, in base64. */
  readonly partsDigest: string;
  /** Checks whether digestAlgorithms contains the hash, in either of its two forms. */
  knowsDigest(hash: HashName): boolean;
}

/**
 * Hashes of the content that are needed: for the new signature and, if they are to be checked, for
 * the existing ones.
 */
export interface NeededHashes {
  readonly hash: HashName;
  readonly toCheck: boolean;
}

/**
 * Maximum number of certificates, of revocation data and of signatures each. Reading or verifying
 * one takes up to milliseconds, and levels above B read all of them.
 */
const partsMax = 500;

/**
 * Reads a document as a SignedData with content. Returns undefined for anything else, such as a
 * detached signature.
 * @throws {Refusal} DOCUMENT_INVALID if it begins like a SignedData but is none, since signing it
 * as content would hide the damage; UNSUPPORTED if it has more parts than any legitimate file
 */
export function earlierSignatures(document: Content, hashes?: NeededHashes): EarlierSignatures | undefined {
  const source = contentSource([document]);
  if (!beginsAsSignedData(source)) return undefined;
  const read = readOrRefuse(source);
  const { content: spans } = read;
  if (spans === undefined) return undefined;
  if ([read.certificates, read.revocationData, read.signerInfos].some((parts) => parts.length > partsMax)) {
    throw new Refusal('UNSUPPORTED', {
      message: `a co-signed document may have at most ${partsMax} signatures, ${partsMax} certificates, and ${partsMax} CRLs and OCSP responses`,
    });
  }
  const content = contentAt(document, source, spans);
  return {
    ...read,
    content,
    octets: contentSource(content),
    digestBy: digests(source, spans, hashesOf(read, hashes)),
    partsDigest: partsDigest(read),
    knowsDigest: (hash) => read.digestAlgorithms.some((identifier) => hashNamed(identifier) === hash),
  };
}

/**
 * Verifies every existing signature: content, certificate and value. Returns what is obsolete in
 * them.
 * @throws {Refusal} EXISTING_SIGNATURE_INVALID
 * @throws {Fault} NOT_QUICK
 */
export function checkEarlierSignatures(earlier: EarlierSignatures, on: { readonly mustBeQuick: boolean }): readonly string[] {
  try {
    return checkSignerInfos(earlier.signerInfos, earlier.certificates, earlier, on);
  } catch (error) {
    if (!(error instanceof SignatureBroken)) throw error;
    throw new Refusal('EXISTING_SIGNATURE_INVALID', { message: `an existing signature of the document: ${error.message}`, cause: error });
  }
}

function readOrRefuse(source: ByteSource): ReadSignedData {
  try {
    return readSignedData(source);
  } catch (error) {
    if (!(error instanceof DerError)) throw error;
    throw new Refusal('DOCUMENT_INVALID', {
      message: `the document begins like a CMS SignedData but is not one: ${error.message}`,
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

/**
 * Returns a function for the digests of the content. They are computed in one pass on first use.
 */
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

/** Returns the hash of a signature; undefined if it cannot be read, which verification reports. */
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
