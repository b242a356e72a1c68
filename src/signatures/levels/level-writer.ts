import type { Evidence } from '../../documents/document.ts';
import type { CheckedToken } from '../../timestamp/check-token.ts';
import type { MessageImprint } from '../../timestamp/request.ts';
import type { PathCertificate } from '../../x509/path/path-certificate.ts';
import type { Prepared, Signing } from '../format.ts';
import type { Additions } from './long-term-data.ts';

/**
 * Levels of baseline signatures (EN 319 122-1, 132-1 and 142-1, clause 6), each including those
 * before it.
 */
export const levels = ['B', 'T', 'LT', 'LTA'] as const;
export type Level = (typeof levels)[number];

export function isAtLeast(level: Level, wanted: Level): boolean {
  return levels.indexOf(level) >= levels.indexOf(wanted);
}

/** A signature with its value and additions. */
export interface Raised<State> {
  readonly prepared: Prepared<State>;
  readonly signing: Signing;
  readonly additions: Additions;
}

/** Trust anchors and time for the check of a finished signature. */
export interface LevelTrust {
  readonly timeStampAnchors: readonly PathCertificate[];
  /** Whether time-stamps may use SHA-1. */
  readonly allowSha1: boolean;
  readonly now: Date;
}

/** Writes time-stamps and validation data in a format. Sends no requests. */
export interface LevelWriter<State> {
  /** Returns the bytes that the signature time-stamp covers. */
  stampedBytes(prepared: Prepared<State>, value: Uint8Array, signing: Signing): Uint8Array;
  /**
   * Makes the archive time-stamp of a signature at level LT.
   * @throws {Refusal} UNSUPPORTED for a signature over SHA-1; what `stamp` throws
   */
  archive(evidence: Evidence, raised: Raised<State>, stamp: (imprint: MessageImprint) => Promise<CheckedToken>): Promise<Uint8Array>;
  /**
   * Returns the level that a finished signature reaches. Parts above `wanted` may be skipped.
   * @throws {LevelBroken} if a part is not valid
   */
  levelOf(evidence: Evidence, raised: Raised<State>, wanted: Level, trust: LevelTrust): Level;
}

/** Thrown if a part of a signature is not valid. */
export class LevelBroken extends Error {}

/** Thrown if a certificate is revoked according to the revocation data. */
export class CertificateRevoked extends LevelBroken {}
