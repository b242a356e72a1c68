import { createHash } from 'node:crypto';
import type { Evidence } from '../../documents/document.ts';
import { Refusal } from '../../result-codes.ts';
import { mapSome } from '../../service/map-some.ts';
import type { CheckedToken } from '../../timestamp/check-token.ts';
import type { MessageImprint } from '../../timestamp/request.ts';
import type { PathCertificate } from '../../x509/path/path-certificate.ts';
import type { Prepared, SignerChain, Signing } from '../format.ts';
import type { LevelOrder } from './level-order.ts';
import { longTermData, type Additions, type Gathered, type LongTermPath } from './long-term-data.ts';
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
import { checkStampedSigner, signerCertificates, verifySignerChain } from './signer-path.ts';

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

/** A signature at the level that it reached. */
export interface RaisedEvidence {
  readonly evidence: Evidence;
  readonly level: Exclude<Level, 'B'>;
  /** What the caller must know of its revocation data: what is left out, and what is tolerated. */
  readonly remarks: readonly string[];
}

/** A level order in progress. */
interface Carried extends Omit<LevelOrder, 'stamp'> {
  readonly stamp: (imprint: MessageImprint) => Promise<CheckedToken>;
  readonly signal: AbortSignal;
}

/**
 * Completes signatures at a level above baseline B: time-stamps each value, gathers certificates
 * and revocation data, time-stamps all of it, and checks the result. Each signature reaches the
 * level of the order; a lower one only if the order tolerates missing revocation data.
 * @throws {Refusal} TIMESTAMP_UNAVAILABLE, TIMESTAMP_INVALID, REVOCATION_UNAVAILABLE,
 *   CERTIFICATE_STATUS_REFUSED
 */
export async function completeAtLevel<State>(task: LevelTask<State>, asked: LevelOrder): Promise<readonly RaisedEvidence[]> {
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
): Promise<readonly RaisedEvidence[]> {
  const each = await mapSome(signatures, async ({ prepared, value }): Promise<Rising<State>> => {
    const gathered = await additionsOf(writer.stampedBytes(prepared, value, signing), signing.chain, order);
    return { ...{ prepared, signing, value }, ...gathered };
  });
  const evidence = await complete(each.map(({ additions }) => additions));
  const atLongTerm = pairsOf(evidence, each);
  if (order.level !== 'LTA') return checked(atLongTerm, writer, order, anchors);
  const atArchive = await mapSome(atLongTerm, async ([one, rising]) => {
    // An archive time-stamp over incomplete data would preserve nothing, and reach no level.
    const isLongTerm = rising.isComplete || isAtLeast(await levelOf([one, rising], 'LT', writer, order, anchors), 'LT');
    if (!isLongTerm) return rising;
    return { ...rising, additions: { ...rising.additions, archive: await archived(one, rising, writer, order) } };
  });
  const final = await complete(atArchive.map(({ additions }) => additions));
  return checked(pairsOf(final, atArchive), writer, order, anchors);
}

/** A signature with its additions, and what they lack. */
type Rising<State> = Raised<State> & Omit<Gathered, 'data'>;

async function additionsOf(
  stamped: Uint8Array,
  chain: SignerChain,
  order: Carried,
): Promise<Omit<Rising<unknown>, 'prepared' | 'signing' | 'value'>> {
  const { imprintHash: hash, sources, signal, tolerance } = order;
  const token = await order.stamp({ hash, value: createHash(hash).update(stamped).digest() });
  await verifySignerChain(chain, order.threads);
  checkStampedSigner(chain, token.info.time);
  if (order.level === 'T') return { additions: { timeStamp: token.der }, isComplete: true, hasWholePaths: true, remarks: [] };
  const gathering = { sources, signal, at: order.now(), cancelOnError: tolerance?.cancelOnError ?? true };
  const { data, ...gathered } = await longTermData([signerPath(chain, order), stampPath(token, order)], gathering);
  return { additions: { timeStamp: token.der, longTermData: data }, ...gathered };
}

function signerPath(
  chain: SignerChain,
  { ofSigner, ofAuthorities, vouches, tolerance }: Pick<Carried, 'ofSigner' | 'ofAuthorities' | 'vouches' | 'tolerance'>,
): LongTermPath {
  return {
    certificates: signerCertificates(chain),
    isAnchored: false,
    of: 'signer certificate',
    leaf: ofSigner,
    authorities: ofAuthorities,
    vouches: vouches.forSigner,
    tolerated: tolerance?.ofSigner,
  };
}

/** The chain of the time-stamp authority uses the sources of the authorities (formats.md). */
function stampPath({ path: { path, anchor } }: CheckedToken, { ofAuthorities, vouches }: Carried): LongTermPath {
  return {
    certificates: [...path.toReversed(), anchor],
    // The status of the authority's own certificate is needed even if that certificate is an
    // anchor.
    isAnchored: path.length > 0,
    of: 'certificate of the time-stamp authority',
    leaf: ofAuthorities,
    authorities: ofAuthorities,
    // Where any root will do, the authority may be one that only the caller trusts.
    vouches: vouches.forOthers,
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

/**
 * Returns the evidence with the level that each signature reaches, if that is enough for all of
 * them.
 */
async function checked<State>(
  pairs: readonly Pair<State>[],
  writer: LevelReader<State>,
  order: Carried,
  timeStampAnchors: readonly PathCertificate[],
): Promise<readonly RaisedEvidence[]> {
  return mapSome(pairs, async (pair) => {
    const [evidence, { isComplete, remarks, additions }] = pair;
    const wanted = order.level === 'LTA' && additions.archive === undefined ? 'LT' : order.level;
    const level = await levelOf(pair, wanted, writer, order, timeStampAnchors);
    const least = isComplete ? order.level : 'T';
    if (level === 'B' || !isAtLeast(level, least)) throw new Error(`the signature reaches level ${level}, not ${least}`);
    return { evidence, level, remarks };
  });
}

/**
 * Returns the level that a signature reaches, `wanted` at most.
 * @throws {Refusal} CERTIFICATE_STATUS_REFUSED
 */
async function levelOf<State>(
  [evidence, rising]: Pair<State>,
  wanted: Level,
  writer: LevelReader<State>,
  order: Carried,
  timeStampAnchors: readonly PathCertificate[],
): Promise<Level> {
  const signerMayBeRevoked = order.tolerance?.ofSigner === 'REVOKED';
  const trust = { timeStampAnchors, allowSha1: order.allowSha1, signerMayBeRevoked, now: order.now() };
  const { prepared, signing, value, additions } = rising;
  try {
    const level = await writer.levelOf(evidence, { prepared, signing, value, additions }, wanted, trust);
    return rising.hasWholePaths || !isAtLeast(level, 'T') ? level : 'T';
  } catch (error) {
    if (error instanceof CertificateRevoked) throw new Refusal('CERTIFICATE_STATUS_REFUSED', { message: error.message, cause: error });
    if (error instanceof LevelBroken) throw new Error(`the signature does not reach level ${wanted}: ${error.message}`, { cause: error });
    throw error;
  }
}

type Pair<State> = readonly [Evidence, Rising<State>];

function pairsOf<State>(evidence: readonly Evidence[], risingOnes: readonly Rising<State>[]): Pair<State>[] {
  return risingOnes.map((one, index) => {
    const made = evidence[index];
    if (made === undefined) throw new RangeError('a signature has no evidence');
    return [made, one];
  });
}
