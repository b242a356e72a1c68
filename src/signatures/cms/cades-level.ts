import { createHash } from 'node:crypto';
import * as der from '../../asn1/der.ts';
import { children, DerError, readAll } from '../../asn1/reader.ts';
import type { PathCertificate } from '../../x509/path/path-certificate.ts';
import type { HashName } from '../../token/signature-algorithm.ts';
import {
  archiveDigest,
  readHashIndex,
  unsignedAttributesOf,
  unsignedValues,
  withoutUnsignedAttributes,
  type HashIndex,
} from '../cades/level-attributes.ts';
import { ifReadable } from '../levels/embedded-data.ts';
import { LevelBroken, type Level } from '../levels/level-writer.ts';
import type { LongTermData } from '../levels/long-term-data.ts';
import { reachedLevel } from '../levels/reached-level.ts';
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
  /** Whether the signer certificate may be revoked. */
  readonly signerMayBeRevoked?: boolean | undefined;
  readonly now: Date;
}

/**
 * Returns the level of a CAdES signature, determined from its content alone.
 * @throws {LevelBroken} if a part of it is not valid
 */
export function cadesLevel(question: LevelQuestion): Level {
  const { signerInfo, certificates, revocationData, signer, anchors, timeStampAnchors = anchors } = question;
  const { allowSha1, signerMayBeRevoked, now } = question;
  const { signature } = readSignerInfo(signerInfo);
  return reachedLevel({
    ...{ signer, anchors, timeStampAnchors, allowSha1, signerMayBeRevoked, now },
    signatureTimeStamps: unsignedValues(signerInfo, 'signatureTimeStamp').map((token) => ({
      token,
      imprint: (hash) => createHash(hash).update(signature).digest(),
    })),
    archiveTimeStamps: unsignedValues(signerInfo, 'archiveTimeStampV3').map((token) => ({
      token,
      imprint: (hash) => archiveImprintOf(token, hash, question),
    })),
    embedded: embeddedIn(certificates, revocationData),
  });
}

/**
 * Returns the embedded data. OCSP responses are encoded as id-ri-ocsp-response with the
 * OCSPResponse (RFC 5940 §2.2).
 */
function embeddedIn(certificates: readonly Uint8Array[], revocationData: readonly Uint8Array[]): LongTermData {
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
 * Returns the digest that an archive time-stamp covers (EN 319 122-1 §5.5.3), after checking that
 * its index lists exactly the parts that are present.
 * @throws {LevelBroken} if it does not
 */
function archiveImprintOf(archive: Uint8Array, hash: HashName, question: LevelQuestion): Uint8Array {
  const index = reading(() => readHashIndex(archive));
  if (index === undefined) throw new LevelBroken('the archive time-stamp has no hash index');
  const { signerInfo, contentType } = question;
  const values = unsignedAttributesOf(signerInfo).flatMap(attributeValueParts);
  const stamps = unsignedValues(signerInfo, 'archiveTimeStampV3');
  const earlier = values.filter((parts) => !stamps.some((stamp) => Buffer.compare(stamp, parts[1] ?? stamp) === 0));
  mustCover(
    index.certificates,
    question.certificates.map((one) => digest(index.hash, one)),
  );
  mustCover(
    index.revocationData,
    question.revocationData.map((one) => digest(index.hash, one)),
  );
  mustCover(
    index.attributeValues,
    earlier.map((parts) => digest(index.hash, ...parts)),
  );
  const own = withoutUnsignedAttributes(signerInfo);
  return archiveDigest({ contentType, contentDigest: question.digestBy(hash), signerInfo: own, hash }, index.der);
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
