import type { Evidence } from '../../documents/document.ts';
import { Refusal } from '../../result-codes.ts';
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
  /** As tokens return it. */
  readonly value: Uint8Array;
  readonly additions: Additions;
}

/** Trust anchors and time for the check of a finished signature. */
export interface LevelTrust {
  readonly timeStampAnchors: readonly PathCertificate[];
  /** Whether time-stamps may use SHA-1. */
  readonly allowSha1: boolean;
  /** Whether the signer certificate may be revoked. */
  readonly signerMayBeRevoked: boolean;
  readonly now: Date;
}

/** What an archive time-stamp covers. */
export interface ArchiveImprint extends MessageImprint {
  /**
   * What surrounds the token in its format: the list of what it covers, or the revisions that have
   * room for it.
   */
  readonly index?: Uint8Array | undefined;
  /** Where in `index` the token belongs, in formats that reserve room for it. */
  readonly room?: { readonly start: number; readonly bytes: number } | undefined;
}

/** Writes time-stamps and validation data in a format. Sends no requests. */
export interface LevelWriter<State> {
  /** Returns the bytes that the signature time-stamp covers. */
  stampedBytes(prepared: Prepared<State>, value: Uint8Array, signing: Signing): Uint8Array;
  /**
   * Returns what the archive time-stamp of a signature at level LT covers.
   * @throws {Refusal} UNSUPPORTED for a signature over SHA-1
   */
  archiveImprint(evidence: Evidence, raised: Raised<State>): ArchiveImprint;
  /** Returns the archive time-stamp with this token in the encoding of the format. */
  archive(token: Uint8Array, imprint: ArchiveImprint): Uint8Array;
  /**
   * Returns the level that a finished signature reaches. Parts above `wanted` may be skipped.
   * @throws {LevelBroken} if a part is not valid
   */
  levelOf(evidence: Evidence, raised: Raised<State>, wanted: Level, trust: LevelTrust): Level;
}

/** Returns the refusal of an archive time-stamp over SHA-1. */
export function sha1NotArchived(): Refusal {
  return new Refusal('UNSUPPORTED', { message: 'archive time-stamps need a digestAlgorithm of SHA_256, SHA_384 or SHA_512' });
}

/** Thrown if a part of a signature is not valid. */
export class LevelBroken extends Error {}

/** Thrown if a certificate is revoked according to the revocation data. */
export class CertificateRevoked extends LevelBroken {}
