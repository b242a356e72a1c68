import { createHash } from 'node:crypto';
import type { Evidence } from '../../documents/document.ts';
import { Refusal } from '../../result-codes.ts';
import type { CheckedToken } from '../../timestamp/check-token.ts';
import type { MessageImprint } from '../../timestamp/request.ts';
import type { PathCertificate } from '../../x509/path/path-certificate.ts';
import type { Prepared, SignerChain, Signing } from '../format.ts';
import type { LevelOrder } from './level-order.ts';
import { type Additions, longTermData, type LongTermPath } from './long-term-data.ts';
import {
  CertificateRevoked,
  isAtLeast,
  LevelBroken,
  type ArchiveImprint,
  type Level,
  type LevelTrust,
  type LevelWriter,
  type Raised,
} from './level-writer.ts';
import { checkStampedSigner, signerCertificates } from './signer-path.ts';

/** A prepared signature with its value. */
export interface ValuedSignature<State> {
  readonly prepared: Prepared<State>;
  readonly value: Uint8Array;
}

/** Signatures to be completed at a level above baseline B. */
export interface LevelTask<State> {
  readonly signatures: readonly ValuedSignature<State>[];
  readonly signing: Signing;
  readonly writer: Pick<LevelWriter<State>, 'stampedBytes' | 'archive'> & LevelReader<State>;
  /** Completes the signatures; `additions` has one entry for each, in the same order. */
  readonly complete: (additions: readonly Additions[]) => Promise<readonly Evidence[]>;
}

/** Reads finished signatures. They may be big, so this can happen in a thread. */
export interface LevelReader<State> {
  /** @throws {Refusal} UNSUPPORTED for a signature over SHA-1 */
  archiveImprint(evidence: Evidence, raised: Raised<State>): Promise<ArchiveImprint>;
  /**
   * Returns the level that a finished signature reaches. Parts above `wanted` may be skipped.
   * @throws {LevelBroken} if a part is not valid
   */
  levelOf(evidence: Evidence, raised: Raised<State>, wanted: Level, trust: LevelTrust): Promise<Level>;
}

/** A level order in progress. */
interface Carried extends Omit<LevelOrder, 'stamp'> {
  readonly stamp: (imprint: MessageImprint) => Promise<CheckedToken>;
  readonly signal: AbortSignal;
}

/**
 * Completes signatures at a level above baseline B: time-stamps each value, gathers certificates
 * and revocation data, time-stamps all of it, and checks the result.
 * @throws {Refusal} TIMESTAMP_UNAVAILABLE, TIMESTAMP_INVALID, REVOCATION_UNAVAILABLE,
 * CERTIFICATE_STATUS_REFUSED
 */
export async function completeAtLevel<State>(task: LevelTask<State>, asked: LevelOrder): Promise<readonly Evidence[]> {
  const anchors: PathCertificate[] = [];
  const failed = new AbortController();
  const signal = AbortSignal.any([AbortSignal.timeout(asked.totalSeconds * 1000), failed.signal]);
  const stamp = async (imprint: MessageImprint): Promise<CheckedToken> => {
    const token = await asked.stamp(imprint, signal);
    anchors.push(token.path.anchor);
    return token;
  };
  try {
    return await raised(task, { ...asked, stamp, signal }, anchors);
  } catch (error) {
    // The responses that other signatures wait for are no longer needed.
    failed.abort();
    throw error;
  }
}

async function raised<State>(
  { signatures, signing, writer, complete }: LevelTask<State>,
  order: Carried,
  anchors: readonly PathCertificate[],
): Promise<readonly Evidence[]> {
  const each = await mapSome(signatures, async ({ prepared, value }) => ({
    ...{ prepared, signing, value },
    additions: await additionsOf(writer.stampedBytes(prepared, value, signing), signing.chain, order),
  }));
  const evidence = await complete(each.map(({ additions }) => additions));
  if (order.level !== 'LTA') return checked(pairsOf(evidence, each), writer, order, anchors);
  const atArchive = await mapSome(pairsOf(evidence, each), async ([one, raisedOne]) => ({
    ...raisedOne,
    additions: { ...raisedOne.additions, archive: await archived(one, raisedOne, writer, order) },
  }));
  const final = await complete(atArchive.map(({ additions }) => additions));
  return checked(pairsOf(final, atArchive), writer, order, anchors);
}

async function additionsOf(stamped: Uint8Array, chain: SignerChain, order: Carried): Promise<Additions> {
  const { imprintHash: hash } = order;
  const token = await order.stamp({ hash, value: createHash(hash).update(stamped).digest() });
  checkStampedSigner(chain, token.info.time);
  if (order.level === 'T') return { timeStamp: token.der };
  const when = { at: order.now(), signal: order.signal };
  return {
    timeStamp: token.der,
    longTermData: await longTermData([signerPath(chain, order), stampPath(token, order)], order.sources, when),
  };
}

function signerPath(chain: SignerChain, { ofSigner, ofAuthorities }: Pick<Carried, 'ofSigner' | 'ofAuthorities'>): LongTermPath {
  return {
    certificates: signerCertificates(chain),
    isAnchored: false,
    of: 'signer certificate',
    leaf: ofSigner,
    authorities: ofAuthorities,
  };
}

/** The chain of the time-stamp authority uses the sources of the authorities (formats.md). */
function stampPath({ path: { path, anchor } }: CheckedToken, { ofAuthorities }: Carried): LongTermPath {
  return {
    certificates: [...path.toReversed(), anchor],
    // The status of the authority's own certificate is needed even if that certificate is an
    // anchor.
    isAnchored: path.length > 0,
    of: 'certificate of the time-stamp authority',
    leaf: ofAuthorities,
    authorities: ofAuthorities,
  };
}

async function archived<State>(
  evidence: Evidence,
  raisedOne: Raised<State>,
  writer: LevelTask<State>['writer'],
  order: Carried,
): Promise<Uint8Array> {
  const imprint = await writer.archiveImprint(evidence, raisedOne);
  const token = await order.stamp({ hash: imprint.hash, value: imprint.value });
  return writer.archive(token.der, imprint);
}

/** Returns the evidence, but only if all of it reaches the level. */
async function checked<State>(
  pairs: readonly (readonly [Evidence, Raised<State>])[],
  writer: LevelReader<State>,
  order: Carried,
  timeStampAnchors: readonly PathCertificate[],
): Promise<readonly Evidence[]> {
  const trust = { timeStampAnchors, allowSha1: order.allowSha1, now: order.now() };
  await mapSome(pairs, async ([evidence, one]) => {
    try {
      const level = await writer.levelOf(evidence, one, order.level, trust);
      if (!isAtLeast(level, order.level)) throw new Error(`the signature reaches level ${level}, not ${order.level}`);
    } catch (error) {
      if (error instanceof CertificateRevoked) throw new Refusal('CERTIFICATE_STATUS_REFUSED', { message: error.message, cause: error });
      if (error instanceof LevelBroken)
        throw new Error(`the signature does not reach level ${order.level}: ${error.message}`, { cause: error });
      throw error;
    }
  });
  return pairs.map(([evidence]) => evidence);
}

function pairsOf<State>(evidence: readonly Evidence[], raisedOnes: readonly Raised<State>[]): (readonly [Evidence, Raised<State>])[] {
  return raisedOnes.map((one, index) => {
    const made = evidence[index];
    if (made === undefined) throw new RangeError('a signature has no evidence');
    return [made, one];
  });
}

/** Maximum number of signatures of a request that are processed at the same time. */
const atOnceMax = 8;

/** Maps a list with few calls at a time; no call begins after one has failed. */
async function mapSome<T, R>(list: readonly T[], work: (one: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const entries = list.entries();
  let hasFailed = false;
  const worker = async (): Promise<void> => {
    for (const [index, one] of entries) {
      if (hasFailed) return;
      try {
        results[index] = await work(one);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnceMax, list.length) }, worker));
  return results;
}
