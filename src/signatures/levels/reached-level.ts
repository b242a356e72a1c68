import { checkToken, TokenInvalid, type CheckedToken } from '../../timestamp/check-token.ts';
import type { HashName } from '../../token/signature-algorithm.ts';
import type { PathCertificate } from '../../x509/path/path-certificate.ts';
import { EmbeddedData, readableCertificates } from './embedded-data.ts';
import { LevelBroken, type Level } from './level-writer.ts';
import type { LongTermData } from './long-term-data.ts';

/** A token and the digest of what it covers. */
export interface StampedPart {
  readonly token: Uint8Array;
  /** @throws {LevelBroken} if it does not cover all that it must */
  readonly imprint: (hash: HashName) => Uint8Array;
}

/** The parts of a signature above baseline B. Its value is verified elsewhere. */
export interface LevelParts {
  readonly signatureTimeStamps: readonly StampedPart[];
  readonly archiveTimeStamps: readonly StampedPart[];
  /** All certificates of the signature, and its revocation data. */
  readonly embedded: LongTermData;
  readonly signer: PathCertificate;
  readonly anchors: readonly PathCertificate[];
  /** Trust anchors of time-stamp authorities; default: `anchors`. */
  readonly timeStampAnchors?: readonly PathCertificate[];
  /** Whether time-stamps may use SHA-1. */
  readonly allowSha1?: boolean | undefined;
  /**
   * Whether the signer certificate may be revoked; the data that shows it then counts as complete.
   */
  readonly signerMayBeRevoked?: boolean | undefined;
  readonly now: Date;
}

/**
 * Returns the level of a signature, determined from its content alone.
 * @throws {LevelBroken} if a part of it is not valid
 */
export function reachedLevel(parts: LevelParts): Level {
  const { signatureTimeStamps, archiveTimeStamps, embedded, signerMayBeRevoked = false, now } = parts;
  if (signatureTimeStamps.length === 0) {
    if (archiveTimeStamps.length > 0) throw new LevelBroken('there is an archive time-stamp but no signature time-stamp');
    return 'B';
  }
  const tokens = signatureTimeStamps.map((one) => checked(one, parts));
  const material = new EmbeddedData(embedded, parts.anchors);
  const stampedAt = new Date(Math.min(...tokens.map(({ info }) => info.time.getTime())));
  const signerPath = material.pathOf(parts.signer, stampedAt);
  const isComplete =
    material.isShown(signerPath, now, { mayBeRevoked: signerMayBeRevoked ? parts.signer : undefined }) &&
    tokens.every(({ path }) => material.isShown(path, now));
  if (archiveTimeStamps.length === 0) return isComplete ? 'LT' : 'T';
  if (!isComplete) throw new LevelBroken('there is an archive time-stamp, but revocation data is missing');
  for (const archive of archiveTimeStamps) checked(archive, parts);
  return 'LTA';
}

function checked({ token, imprint }: StampedPart, parts: LevelParts): CheckedToken {
  const { anchors, timeStampAnchors = anchors, embedded, allowSha1, now } = parts;
  try {
    const intermediates = readableCertificates(embedded.certificates);
    return checkToken(token, { imprint, anchors: timeStampAnchors, intermediates, allowSha1 }, now);
  } catch (error) {
    if (error instanceof TokenInvalid) throw new LevelBroken(error.message, { cause: error });
    throw error;
  }
}
