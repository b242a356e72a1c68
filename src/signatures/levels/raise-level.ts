import { children, readAll } from '../../asn1/reader.ts';
import type { PathCertificate } from '../../x509/path/path-certificate.ts';
import type { Evidence, InputDocument } from '../../documents/document.ts';
import { Refusal } from '../../result-codes.ts';
import type { CheckedToken } from '../../timestamp/check-token.ts';
import type { MessageImprint } from '../../timestamp/request.ts';
import type { WorkThreads } from '../../threads/work-threads.ts';
import type { HashName } from '../../token/signature-algorithm.ts';
import { contentSource } from '../content-source.ts';
import type { Prepared, SignerChain } from '../format.ts';
import type { LevelOrder } from './level-order.ts';
import { longTermData, type LongTermPath } from './long-term-data.ts';
import { ecdsaValueToDer } from '../signature-value.ts';
import type { ThreadedFormat } from '../format-steps.ts';
import { checkStampedSigner, signerCertificates } from './signer-path.ts';
import { cadesLevel, CertificateRevoked, isAtLeast, LevelBroken } from '../cms/cades-level.ts';
import type { CmsParameters, CmsState } from '../cms/cms.ts';
import {
  archiveTimeStamp,
  noAdditions,
  signatureImprint,
  signatureTimeStamp,
  unsignedAttributesOf,
  withLongTermData,
  withoutUnsignedAttributes,
  type Additions,
} from '../cms/level-attributes.ts';
import { readSignedData, type ReadSignedData } from '../../cms/read-signed-data.ts';
import { readSignerInfo } from '../../cms/read-signer-info.ts';
import { names } from '../../cms/verify-signer-info.ts';

export interface LevelTask {
  readonly prepared: readonly Prepared<CmsState>[];
  readonly values: readonly Uint8Array[];
  readonly signer: SignerChain;
  readonly documents: readonly (InputDocument | undefined)[];
}

/** An order that is being carried out. */
interface Carried extends Omit<LevelOrder, 'stamp'> {
  readonly stamp: (imprint: MessageImprint) => Promise<CheckedToken>;
  readonly signal: AbortSignal;
}

/** A signature with what was added to it. */
interface Raised extends Prepared<CmsState> {
  readonly additions: Additions;
}

type CmsFormat = ThreadedFormat<CmsParameters, CmsState>;

/**
 * Completes signatures at a level above baseline B: time-stamps each value, gathers certificates and revocation data, time-stamps all of it, and looks at what
 * came of it before it leaves. @throws {Refusal} TIMESTAMP_UNAVAILABLE, TIMESTAMP_INVALID, REVOCATION_UNAVAILABLE, CERTIFICATE_STATUS_REFUSED
 */
export async function completeAtLevel(
  format: CmsFormat,
  task: LevelTask,
  asked: LevelOrder,
  threads: WorkThreads,
): Promise<readonly Evidence[]> {
  const anchors: PathCertificate[] = [];
  const failed = new AbortController();
  const signal = AbortSignal.any([AbortSignal.timeout(asked.totalSeconds * 1000), failed.signal]);
  const stamp = async (imprint: MessageImprint): Promise<CheckedToken> => {
    const token = await asked.stamp(imprint, signal);
    anchors.push(token.path.anchor);
    return token;
  };
  try {
    return await raised(format, task, { order: { ...asked, stamp, signal }, anchors }, threads);
  } catch (error) {
    // What the other documents ask for is of no use any more.
    failed.abort();
    throw error;
  }
}

async function raised(
  format: CmsFormat,
  task: LevelTask,
  { order, anchors }: { readonly order: Carried; readonly anchors: readonly PathCertificate[] },
  threads: WorkThreads,
): Promise<readonly Evidence[]> {
  const additions = await mapSome(task.prepared, async (prepared, index) =>
    additionsOf(prepared, at(task.values, index), task.signer, order),
  );
  let final: readonly Additions[] = additions;
  let evidence = await format.complete({ ...task, additions }, threads);
  if (order.level === 'LTA') {
    const archives = await mapSome(evidence, async (one, index) =>
      archiveAttribute(one, { ...at(task.prepared, index), additions: at(additions, index) }, task.signer, order),
    );
    final = additions.map((one, index) => ({ ...one, unsignedAttributes: [...one.unsignedAttributes, at(archives, index)] }));
    evidence = await format.complete({ ...task, additions: final }, threads);
  }
  for (const [index, one] of evidence.entries())
    checkLevel(one, { ...at(task.prepared, index), additions: at(final, index) }, task.signer, order, anchors);
  return evidence;
}

async function additionsOf({ algorithm }: Prepared<CmsState>, value: Uint8Array, signer: SignerChain, order: Carried): Promise<Additions> {
  const signature = algorithm.scheme === 'ECDSA' ? ecdsaValueToDer(value) : value;
  const token = await order.stamp(signatureImprint(signature, order.imprintHash));
  checkStampedSigner(signer, token.info.time);
  const additions = { ...noAdditions, unsignedAttributes: [signatureTimeStamp(token.der)] };
  if (order.level === 'T') return additions;
  const data = await longTermData([signerPath(signer, order), stampPath(token, order)], order.sources, {
    at: order.now(),
    signal: order.signal,
  });
  return withLongTermData(additions, data);
}

function signerPath(signer: SignerChain, { ofSigner, ofAuthorities }: Pick<Carried, 'ofSigner' | 'ofAuthorities'>): LongTermPath {
  return {
    certificates: signerCertificates(signer),
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
    // Of the authority's own certificate something must be said, whoever trusts it.
    isAnchored: path.length > 0,
    of: 'certificate of the time-stamp authority',
    leaf: ofAuthorities,
    authorities: ofAuthorities,
  };
}

async function archiveAttribute(
  evidence: Evidence,
  { state, algorithm, additions }: Raised,
  signer: SignerChain,
  order: Carried,
): Promise<Uint8Array> {
  const { hash } = algorithm;
  if (hash === 'sha1')
    throw new Refusal('UNSUPPORTED', { message: 'archive time-stamps need a digestAlgorithm of SHA_256, SHA_384 or SHA_512' });
  const data = readSignedData(contentSource(evidence.content));
  const signerInfo = ownSignerInfo(data, { state, additions }, signer);
  const { certificates, revocationData, contentType } = data;
  const input = { contentType, contentDigest: Buffer.from(state.contentDigest, 'base64'), certificates, revocationData, hash };
  return archiveTimeStamp(
    { ...input, signerInfo: withoutUnsignedAttributes(signerInfo), unsignedAttributes: unsignedAttributesOf(signerInfo) },
    async (imprint) => {
      const token = await order.stamp(imprint);
      return token.der;
    },
  );
}

/** The new SignerInfo among those of the result: that of this signer with these signed attributes, and with the time-stamps that it alone has. */
function ownSignerInfo(
  { signerInfos }: ReadSignedData,
  { state, additions }: Pick<Raised, 'state' | 'additions'>,
  { certificate }: SignerChain,
): Uint8Array {
  const wanted = state.signedAttributes.map((one) => Buffer.from(one, 'base64'));
  const own = signerInfos.find((bytes) => {
    const info = readSignerInfo(bytes);
    const attributes = info.signedAttributes === undefined ? [] : children(readAll(info.signedAttributes)).map(({ raw }) => raw);
    return (
      names(info.signer, certificate) &&
      wanted.every((one) => attributes.some((other) => one.equals(other))) &&
      additions.unsignedAttributes.every((one) => unsignedAttributesOf(bytes).some((other) => Buffer.compare(one, other) === 0))
    );
  });
  if (own === undefined) throw new Error('the result lacks the new signature');
  return own;
}

/** What does not reach the level that was asked for does not leave. */
function checkLevel(
  evidence: Evidence,
  { state, algorithm, additions }: Raised,
  signer: SignerChain,
  order: Carried,
  timeStampAnchors: readonly PathCertificate[],
): void {
  const data = readSignedData(contentSource(evidence.content));
  const contentDigest = Buffer.from(state.contentDigest, 'base64');
  const [own, ...issuers] = signerCertificates(signer);
  const isOwn = (bytes: Uint8Array): boolean => issuers.some((one) => Buffer.compare(one.der, bytes) === 0);
  const question = {
    ...data,
    // The own chain is found before those that lead over other signers' certificates.
    certificates: [...data.certificates.filter(isOwn), ...data.certificates.filter((one) => !isOwn(one))],
    // Level T asks for no status: what other signers have put there is theirs.
    ...(order.level === 'T' ? { revocationData: [] } : {}),
    signerInfo: ownSignerInfo(data, { state, additions }, signer),
    digestBy: (hash: HashName): Uint8Array => {
      if (hash !== algorithm.hash) throw new Error(`the digest of the content by ${hash} is not at hand`);
      return contentDigest;
    },
    signer: own,
    anchors: [issuers.at(-1) ?? own],
    timeStampAnchors,
    allowSha1: order.allowSha1,
    now: order.now(),
  };
  try {
    const level = cadesLevel(question);
    if (!isAtLeast(level, order.level)) throw new Error(`the signature reaches level ${level}, not ${order.level}`);
  } catch (error) {
    if (error instanceof CertificateRevoked) throw new Refusal('CERTIFICATE_STATUS_REFUSED', { message: error.message, cause: error });
    if (error instanceof LevelBroken)
      throw new Error(`the signature does not reach level ${order.level}: ${error.message}`, { cause: error });
    throw error;
  }
}

/** Asks for so many documents at once: who asks for a hundred has no hundred connections. */
const atOnceMax = 8;

/** Each with a place in the answer; nothing more begins once one has failed. */
async function mapSome<T, R>(list: readonly T[], work: (one: T, index: number) => Promise<R>): Promise<R[]> {
  const results = new Map<number, R>();
  const entries = list.entries();
  let hasFailed = false;
  const worker = async (): Promise<void> => {
    for (const [index, one] of entries) {
      if (hasFailed) return;
      try {
        results.set(index, await work(one, index));
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnceMax, list.length) }, worker));
  return list.map((_, index) => {
    const result = results.get(index);
    if (result === undefined) throw new Error('every document has its result');
    return result;
  });
}

function at<T>(list: readonly T[], index: number): T {
  const value = list[index];
  if (value === undefined) throw new RangeError(`no element ${index} in a list of ${list.length}`);
  return value;
}
