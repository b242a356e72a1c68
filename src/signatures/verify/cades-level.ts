import { createHash } from 'node:crypto';
import * as der from '../../asn1/der.ts';
import { children, DerError, readAll } from '../../asn1/reader.ts';
import type { ValidPath } from '../../x509/path/check-path.ts';
import { PathFault } from '../../x509/path/path-fault.ts';
import { findPath } from '../../x509/path/find-path.ts';
import { pathCertificate, type PathCertificate } from '../../x509/path/path-certificate.ts';
import { crlStatus, ocspStatus, type CertificateStatus } from '../../revocation/status.ts';
import { readCrl, type Crl } from '../../revocation/crl.ts';
import { readOcspAnswer, type OcspAnswer } from '../../revocation/ocsp-answer.ts';
import { checkToken, TokenInvalid, type CheckedToken } from '../../timestamp/check-token.ts';
import type { HashName } from '../../token/signature-algorithm.ts';
import {
  archiveDigest,
  readHashIndex,
  unsignedAttributesOf,
  unsignedValues,
  withoutUnsignedAttributes,
  type HashIndex,
} from '../cms/levels.ts';
import { readSignerInfo } from '../../cms/read-signer-info.ts';

/** Levels of CAdES baseline signatures (EN 319 122-1 §6), each with all that those before it have. */
const levels = ['B', 'T', 'LT', 'LTA'] as const;
type Level = (typeof levels)[number];

export function isAtLeast(level: Level, wanted: Level): boolean {
  return levels.indexOf(level) >= levels.indexOf(wanted);
}

/** A signature whose parts above baseline B are looked at. That its value holds is checked elsewhere. */
export interface LevelQuestion {
  /** The SignerInfo as it stands in the SignedData, in DER. */
  readonly signerInfo: Uint8Array;
  /** All of the SignedData. */
  readonly certificates: readonly Uint8Array[];
  readonly revocationData: readonly Uint8Array[];
  readonly contentType: string;
  /** Digest of the content, for the hash of an archive time-stamp. */
  digestBy(hash: HashName): Uint8Array;
  readonly signer: PathCertificate;
  readonly anchors: readonly PathCertificate[];
  /** Where the anchors are not those of time-stamp authorities. */
  readonly timeStampAnchors?: readonly PathCertificate[];
  /** Whether time-stamps may rest on SHA-1. */
  readonly allowSha1?: boolean | undefined;
  readonly now: Date;
}

/** A part of a signature that does not hold. */
export class LevelBroken extends Error {}

/** The revocation data says that a certificate is revoked. */
export class CertificateRevoked extends LevelBroken {}

/**
 * The level that a CAdES signature reaches, from what stands in it alone: nobody is asked.
 * @throws {LevelBroken} where a part is there that does not hold
 */
export function cadesLevel(question: LevelQuestion): Level {
  const { signerInfo, now } = question;
  const stamps = unsignedValues(signerInfo, 'signatureTimeStamp');
  const archives = unsignedValues(signerInfo, 'archiveTimeStampV3');
  if (stamps.length === 0) {
    if (archives.length > 0) throw new LevelBroken('there is an archive time-stamp and no signature time-stamp');
    return 'B';
  }
  const { signature } = readSignerInfo(signerInfo);
  const tokens = stamps.map((token) => checked(token, (hash) => createHash(hash).update(signature).digest(), question));
  const material = new Embedded(question);
  const stampedAt = new Date(Math.min(...tokens.map(({ info }) => info.time.getTime())));
  const paths = [material.pathOf(question.signer, stampedAt), ...tokens.map(({ path }) => path)];
  const isComplete = paths.every((path) => material.isGood(path, now));
  if (archives.length === 0) return isComplete ? 'LT' : 'T';
  if (!isComplete) throw new LevelBroken('there is an archive time-stamp, and revocation data is missing');
  for (const archive of archives) checkArchive(archive, question);
  return 'LTA';
}

function checked(token: Uint8Array, imprint: (hash: HashName) => Uint8Array, question: LevelQuestion): CheckedToken {
  const { anchors, timeStampAnchors = anchors, certificates, allowSha1, now } = question;
  try {
    return checkToken(token, { imprint, anchors: timeStampAnchors, intermediates: certificates.flatMap(readable), allowSha1 }, now);
  } catch (error) {
    if (error instanceof TokenInvalid) throw new LevelBroken(error.message, { cause: error });
    throw error;
  }
}

/** The certificates and the revocation data that stand in the signature. What cannot be read, such as SCVP answers of other signers, is nobody's proof here. */
class Embedded {
  readonly #certificates: readonly PathCertificate[];
  readonly #crls: readonly Crl[];
  readonly #answers: readonly OcspAnswer[];
  readonly #anchors: readonly PathCertificate[];

  constructor({ certificates, revocationData, anchors }: LevelQuestion) {
    this.#certificates = certificates.flatMap(readable);
    this.#anchors = anchors;
    const [answers, crls] = [revocationData.filter(([tag]) => tag === 0xa1), revocationData.filter(([tag]) => tag === 0x30)];
    this.#crls = crls.flatMap((bytes) => ifReadable(() => readCrl(bytes)));
    // RFC 5940 §2.2: id-ri-ocsp-response and the OCSPResponse.
    this.#answers = answers.flatMap((bytes) => ifReadable(() => readOcspAnswer(children(readAll(bytes))[1]?.raw ?? new Uint8Array())));
  }

  pathOf(signer: PathCertificate, at: Date): ValidPath {
    try {
      return findPath(signer, { anchors: this.#anchors, intermediates: this.#certificates }, { at });
    } catch (error) {
      if (error instanceof PathFault) throw new LevelBroken(`the signer certificate: ${error.message}`, { cause: error });
      throw error;
    }
  }

  /** Whether every certificate below the anchor is shown to be good. @throws {LevelBroken} for a revoked one */
  isGood({ anchor, path }: ValidPath, at: Date): boolean {
    return path.every((certificate, index) => this.#statusOf(certificate, path[index - 1] ?? anchor, at) === 'good');
  }

  #statusOf(certificate: PathCertificate, issuer: PathCertificate, at: Date): CertificateStatus['kind'] {
    const kinds = [
      ...this.#crls.flatMap((crl) => ifReadable(() => crlStatus(crl, { certificate, issuers: [issuer], at }).kind)),
      ...this.#answers.flatMap((answer) => ifReadable(() => ocspStatus(answer, { certificate, issuer, at }).kind)),
    ];
    if (kinds.includes('revoked'))
      throw new CertificateRevoked('the revocation data that stands in the signature says that a certificate is revoked');
    return kinds.includes('good') ? 'good' : 'undetermined';
  }
}

/** EN 319 122-1 §5.5.3: what the index names is there, what was there is in the index, and the imprint is that of all of it. */
function checkArchive(archive: Uint8Array, question: LevelQuestion): void {
  const index = reading(() => readHashIndex(archive));
  if (index === undefined) throw new LevelBroken('the archive time-stamp has no index of hashes');
  const { signerInfo, contentType } = question;
  const own = withoutUnsignedAttributes(signerInfo);
  const { der: indexDer } = index;
  checked(
    archive,
    (hash) => archiveDigest({ contentType, contentDigest: question.digestBy(hash), signerInfo: own, hash }, indexDer),
    question,
  );
  const values = unsignedAttributesOf(signerInfo).flatMap(attributeValueParts);
  const stamps = unsignedValues(signerInfo, 'archiveTimeStampV3');
  const earlier = values.filter((parts) => !stamps.some((stamp) => Buffer.compare(stamp, parts[1] ?? stamp) === 0));
  const { hash } = index;
  mustCover(
    index.certificates,
    question.certificates.map((one) => digest(hash, one)),
  );
  mustCover(
    index.revocationData,
    question.revocationData.map((one) => digest(hash, one)),
  );
  mustCover(
    index.attributeValues,
    earlier.map((parts) => digest(hash, ...parts)),
  );
}

/** Everything that is named is there, and everything that is there is named. */
function mustCover(named: HashIndex['certificates'], present: readonly Uint8Array[]): void {
  const texts = (list: readonly Uint8Array[]): Set<string> => new Set(list.map((one) => Buffer.from(one).toString('hex')));
  const [left, right] = [texts(named), texts(present)];
  if (left.size !== right.size || [...left].some((one) => !right.has(one)))
    throw new LevelBroken('the archive time-stamp covers other things than are there');
}

function attributeValueParts(attribute: Uint8Array): Uint8Array[][] {
  const [type, values] = children(readAll(attribute));
  return type === undefined || values === undefined ? [] : children(values).map(({ raw }) => [type.raw, raw]);
}

function digest(hash: HashName, ...parts: readonly Uint8Array[]): Uint8Array {
  return createHash(hash)
    .update(der.concat(...parts))
    .digest();
}

function readable(bytes: Uint8Array): PathCertificate[] {
  return ifReadable(() => pathCertificate(bytes));
}

function ifReadable<T>(read: () => T): T[] {
  try {
    return [read()];
  } catch (error) {
    if (error instanceof DerError) return [];
    throw error;
  }
}

function reading<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof DerError) throw new LevelBroken(`a part of the signature cannot be read: ${error.message}`, { cause: error });
    throw error;
  }
}
