import { createHash } from 'node:crypto';
import * as der from '../../asn1/der.ts';
import { children, DerError, readAll } from '../../asn1/reader.ts';
import type { PathCertificate } from '../../x509/path/path-certificate.ts';
import { checkToken, TokenInvalid, type CheckedToken } from '../../timestamp/check-token.ts';
import type { HashName } from '../../token/signature-algorithm.ts';
import {
  archiveDigest,
  readHashIndex,
  unsignedAttributesOf,
  unsignedValues,
  withoutUnsignedAttributes,
  type HashIndex,
} from './level-attributes.ts';
import { EmbeddedData, ifReadable, readableCertificates } from '../levels/embedded-data.ts';
import { LevelBroken, type Level } from '../levels/level-writer.ts';
import type { LongTermData } from '../levels/long-term-data.ts';
import { readSignerInfo } from '../../cms/read-signer-info.ts';

/** A signature whose parts above baseline B are checked. Its value is verified elsewhere. */
export interface LevelQuestion {
  /** The SignerInfo as it stands in the SignedData, in DER. */
  readonly signerInfo: Uint8Array;
  /** All certificates of the SignedData. */
  readonly certificates: readonly Uint8Array[];
  readonly revocationData: readonly Uint8Array[];
  readonly contentType: string;
  /** Digest of the content, for the hash of an archive time-stamp. */
  digestBy(hash: HashName): Uint8Array;
  readonly signer: PathCertificate;
  readonly anchors: readonly PathCertificate[];
  /** Trust anchors of time-stamp authorities; default: `anchors`. */
  readonly timeStampAnchors?: readonly PathCertificate[];
  /** Whether time-stamps may use SHA-1. */
  readonly allowSha1?: boolean | undefined;
  readonly now: Date;
}

/**
 * Returns the level of a CAdES signature, determined from its content alone.
 * @throws {LevelBroken} if a part of it is not valid
 */
export function cadesLevel(question: LevelQuestion): Level {
  const { signerInfo, now } = question;
  const stamps = unsignedValues(signerInfo, 'signatureTimeStamp');
  const archives = unsignedValues(signerInfo, 'archiveTimeStampV3');
  if (stamps.length === 0) {
    if (archives.length > 0) throw new LevelBroken('there is an archive time-stamp but no signature time-stamp');
    return 'B';
  }
  const { signature } = readSignerInfo(signerInfo);
  const tokens = stamps.map((token) => checked(token, (hash) => createHash(hash).update(signature).digest(), question));
  const material = new EmbeddedData(embeddedIn(question), question.anchors);
  const stampedAt = new Date(Math.min(...tokens.map(({ info }) => info.time.getTime())));
  const paths = [material.pathOf(question.signer, stampedAt), ...tokens.map(({ path }) => path)];
  const isComplete = paths.every((path) => material.isGood(path, now));
  if (archives.length === 0) return isComplete ? 'LT' : 'T';
  if (!isComplete) throw new LevelBroken('there is an archive time-stamp, but revocation data is missing');
  for (const archive of archives) checkArchive(archive, question);
  return 'LTA';
}

function checked(token: Uint8Array, imprint: (hash: HashName) => Uint8Array, question: LevelQuestion): CheckedToken {
  const { anchors, timeStampAnchors = anchors, certificates, allowSha1, now } = question;
  try {
    return checkToken(token, { imprint, anchors: timeStampAnchors, intermediates: readableCertificates(certificates), allowSha1 }, now);
  } catch (error) {
    if (error instanceof TokenInvalid) throw new LevelBroken(error.message, { cause: error });
    throw error;
  }
}

/**
 * Returns the embedded data. OCSP responses are encoded as id-ri-ocsp-response with the
 * OCSPResponse (RFC 5940 §2.2).
 */
function embeddedIn({ certificates, revocationData }: LevelQuestion): LongTermData {
  return {
    certificates,
    crls: revocationData.filter(([tag]) => tag === 0x30),
    // These bytes belong to other signers: they need not be DER.
    ocspAnswers: revocationData
      .filter(([tag]) => tag === 0xa1)
      .flatMap((choice) => ifReadable(() => children(readAll(choice))[1]?.raw ?? new Uint8Array())),
  };
}

/**
 * Checks an archive time-stamp (EN 319 122-1 §5.5.3): the index lists exactly the parts that are
 * present, and the imprint covers all of them.
 */
function checkArchive(archive: Uint8Array, question: LevelQuestion): void {
  const index = reading(() => readHashIndex(archive));
  if (index === undefined) throw new LevelBroken('the archive time-stamp has no hash index');
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

/** Checks that exactly the named parts are present. */
function mustCover(named: HashIndex['certificates'], present: readonly Uint8Array[]): void {
  const texts = (list: readonly Uint8Array[]): Set<string> => new Set(list.map((one) => Buffer.from(one).toString('hex')));
  const [left, right] = [texts(named), texts(present)];
  if (left.size !== right.size || [...left].some((one) => !right.has(one)))
    throw new LevelBroken('the archive time-stamp does not cover exactly the parts of the signature');
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

function reading<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof DerError) throw new LevelBroken(`a part of the signature cannot be read: ${error.message}`, { cause: error });
    throw error;
  }
}
