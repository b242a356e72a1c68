import { createHash } from 'node:crypto';
import { isBig } from '../documents/big-content.ts';
import type { SignedFile } from '../documents/content.ts';
import type { Evidence, InputDocument } from '../documents/document.ts';
import { Refusal } from '../result-codes.ts';
import type { WorkThreads } from '../threads/work-threads.ts';
import type { SignatureAlgorithm } from '../token/signature-algorithm.ts';
import { takesLong } from '../verification/effort.ts';
import type { AskedDocument, Signer, TrustedCa } from './format-entry.ts';
import { usualWorkload, type Prepared, type SignerChain, type Signing, type Workload } from './format.ts';
import {
  archiveImprintTask,
  completeTask,
  formats,
  levelOfTask,
  levelWriter,
  type AskedFormat,
  type CompleteTask,
  type FormatName,
  type LevelOfTask,
  type LevelOutcome,
  type LevelReadTask,
} from './formats.ts';
import type { AskedLevel } from './levels/asked-level.ts';
import type { Levels } from './levels/level-order.ts';
import type { Additions } from './levels/long-term-data.ts';
import { CertificateRevoked, LevelBroken, type ArchiveImprint } from './levels/level-writer.ts';
import { completeAtLevel, type LevelReader, type RaisedEvidence } from './levels/raise-level.ts';
import { inThread, isLong, textLength, textOnLoopMax } from './work-place.ts';

/** Everything determined by a request and its signer, before any document is read. */
export interface SigningPlan {
  readonly format: FormatName;
  /**
   * Algorithm of all signatures; undefined if neither a certificate nor the request determines it.
   */
  readonly algorithm: SignatureAlgorithm | undefined;
  /** Requested level above baseline B, if any. */
  readonly level: AskedLevel | undefined;
  readonly chain: SignerChain | undefined;
  /** Whether the evidence is text. */
  readonly isText: boolean;
  /** Parameters of the format. */
  readonly parameters: unknown;
}

/** The plan for a known signer. */
export interface SignerPlan extends SigningPlan {
  readonly algorithm: SignatureAlgorithm;
  /**
   * Pointer to the parameters to name if the token does not support the algorithm; absent if the
   * request has none.
   */
  readonly algorithmAt?: string | undefined;
  readonly chain: SignerChain;
}

/** Prepared signatures of one request. Everything but their bytes survives JSON. */
export interface PreparedSignatures extends Omit<SigningPlan, 'parameters'> {
  readonly prepared: readonly Prepared<unknown>[];
}

/** Evidence of one signature. */
export interface SignatureEvidence {
  /** ID of the prepared signature. */
  readonly id: string;
  /** Index of the document that the evidence is named after. */
  readonly document: number;
  readonly evidence: Evidence;
  /** What the caller must know of the signature, such as a level below the requested one. */
  readonly notice?: string | undefined;
}

/** Returns the plan for a signer. @throws {Refusal} FIELDS_INCONSISTENT */
export function signerPlan(asked: AskedFormat, documents: readonly AskedDocument[], signer: Signer): SignerPlan {
  const { format, level, isText } = asked;
  checkTrustedCa(asked.trustedCa, signer.chain.issuers);
  const { algorithm, algorithmAt, parameters } = formats[format].plan(asked, documents, signer);
  if (algorithm === undefined) throw new Error('the key of a signer decides on an algorithm');
  return { format, algorithm, algorithmAt, level, chain: signer.chain, isText, parameters };
}

/**
 * Returns the plan for a request without a signer, in a format that binds no certificate.
 * @throws {Refusal} FIELDS_INCONSISTENT
 */
export function planWithoutSigner(asked: AskedFormat, documents: readonly AskedDocument[]): SigningPlan {
  const { format, level, isText } = asked;
  const { algorithm, parameters } = formats[format].plan(asked, documents, undefined);
  return { format, algorithm, level, chain: undefined, isText, parameters };
}

/** Checks that the chain contains the CA. @throws {Refusal} FIELDS_INCONSISTENT */
function checkTrustedCa(trustedCa: TrustedCa | undefined, issuers: readonly Uint8Array[]): void {
  if (trustedCa === undefined) return;
  const wanted = trustedCa.fingerprint.toLowerCase();
  if (issuers.some((certificate) => createHash('sha1').update(certificate).digest('hex') === wanted)) return;
  throw new Refusal('FIELDS_INCONSISTENT', {
    at: trustedCa.at,
    message: 'no chain of the signer certificate contains this certificate',
  });
}

/** Services needed for completion. */
export interface Completing {
  readonly threads: WorkThreads;
  readonly levels: Pick<Levels, 'order'>;
}

/**
 * As `completeSignatures`, for baseline B where that takes no longer than the event loop may be
 * held; otherwise undefined.
 * @throws {Error} if a result does not verify
 */
export function completeAtOnce(
  signatures: PreparedSignatures,
  values: ReadonlyMap<string, Uint8Array>,
): readonly SignatureEvidence[] | undefined {
  if (signatures.level !== undefined) return undefined;
  const task = completeTaskOf(signatures, values);
  // Whether it is long is asked again by the general way, which is rare and takes far longer.
  return threadFor(task) === undefined ? evidenceOf(signatures, completeTask(task).map(withoutNotice)) : undefined;
}

/**
 * Inserts the values, each by the ID of its signature, and returns the evidence in the order of the
 * signatures.
 * @throws {Refusal} if a level cannot be reached
 * @throws {Error} if a result does not verify
 */
export async function completeSignatures(
  prepared: PreparedSignatures,
  values: ReadonlyMap<string, Uint8Array>,
  { threads, levels }: Completing,
): Promise<readonly SignatureEvidence[]> {
  const complete = async (task: CompleteTask): Promise<readonly Evidence[]> => {
    const workload = threadFor(task);
    return workload === undefined ? completeTask(task) : inThread(threads, 'completeTask', task, workload);
  };
  const task = completeTaskOf(prepared, values);
  const { format, signatures, signing } = task;
  const { level } = prepared;
  if (level === undefined) return evidenceOf(prepared, (await complete(task)).map(withoutNotice));
  if (signing === undefined) throw new Error(`the format ${format} has no levels without a signer`);
  const raising = {
    ...{ signatures, signing },
    writer: { ...levelWriter(format), ...levelReader(format, threads) },
    complete: async (additions: readonly Additions[]) =>
      complete({ ...task, signatures: signatures.map((one, index) => ({ ...one, additions: additions[index] })) }),
  };
  const raised = await completeAtLevel(raising, levels.order(level, signing.chain));
  return evidenceOf(
    prepared,
    raised.map(({ evidence, ...reached }) => ({ evidence, notice: noticeOf(reached) })),
  );
}

function completeTaskOf({ format, algorithm, chain, prepared }: PreparedSignatures, values: ReadonlyMap<string, Uint8Array>): CompleteTask {
  const signing: Signing | undefined = chain === undefined || algorithm === undefined ? undefined : { algorithm, chain };
  return { format, signing, signatures: prepared.map((one) => ({ prepared: one, value: valueOf(one, values) })) };
}

/**
 * Returns the workload of a completion that takes too long for the event loop; otherwise undefined.
 */
function threadFor({ format, signatures, signing }: CompleteTask): Workload | undefined {
  const contents = signatures.flatMap(({ prepared }) => prepared.contents);
  const long =
    contents.length === 0
      ? undefined
      : signatures.map(({ prepared }) => formats[format].format.completion(prepared.state)).find((one) => isLong(contents, one));
  if (long !== undefined) return long;
  const states = signatures.map(({ prepared }) => prepared.state);
  if (states.length > 1 && textLength(states) > textOnLoopMax) return formats[format].format.completion(states[0]);
  return signing !== undefined && takesLong(signing.chain.publicKey, signatures.length) ? usualWorkload : undefined;
}

function withoutNotice(evidence: Evidence): Pick<SignatureEvidence, 'evidence' | 'notice'> {
  return { evidence };
}

/** Names the evidence after the documents. */
function evidenceOf(
  { prepared }: PreparedSignatures,
  made: readonly Pick<SignatureEvidence, 'evidence' | 'notice'>[],
): readonly SignatureEvidence[] {
  return prepared.map(({ id, covers, notice }, index) => {
    const one = made[index];
    if (one === undefined) throw new RangeError('a signature has no evidence');
    const notices = [notice, one.notice].filter((text) => text !== undefined);
    return { id, document: covers[0]?.index ?? 0, ...one, notice: notices.length === 0 ? undefined : notices.join('; ') };
  });
}

/**
 * Returns the notices of a request's signatures. Of several signatures, each notice names those
 * that it is about.
 */
export function evidenceNotices(evidence: readonly Pick<SignatureEvidence, 'id' | 'notice'>[]): string[] {
  const ids = new Map<string, string[]>();
  for (const { id, notice } of evidence) if (notice !== undefined) ids.set(notice, [...(ids.get(notice) ?? []), JSON.stringify(id)]);
  return Array.from(ids, ([notice, of]) =>
    evidence.length === 1 ? notice : `${of.length === 1 ? 'document' : 'documents'} ${of.join(', ')}: ${notice}`,
  );
}

function noticeOf({ level, remarks }: Pick<RaisedEvidence, 'level' | 'remarks'>): string | undefined {
  return remarks.length === 0 ? undefined : `signed at level ${level}: ${remarks.join('; ')}`;
}

function valueOf({ id }: Prepared<unknown>, values: ReadonlyMap<string, Uint8Array>): Uint8Array {
  const value = values.get(id);
  if (value === undefined) throw new Error('each signature has its value');
  return value;
}

/** Reads finished signatures, in threads where completing them took one. */
function levelReader(format: FormatName, threads: WorkThreads): LevelReader<unknown> {
  const inItsPlace = async <T>(
    name: 'archiveImprintTask' | 'levelOfTask',
    task: LevelReadTask | LevelOfTask,
    here: () => T,
  ): Promise<T> => {
    const { state, contents } = task.raised.prepared;
    const workload = formats[format].format.completion(state);
    return isBig(task.evidence.content) || isLong(contents, workload) ? inThread<T>(threads, name, task, workload) : here();
  };
  return {
    archiveImprint: async (evidence, raised) => {
      const task: LevelReadTask = { format, evidence, raised };
      return inItsPlace<ArchiveImprint>('archiveImprintTask', task, () => archiveImprintTask(task));
    },
    levelOf: async (evidence, raised, wanted, trust) => {
      const timeStampAnchors = trust.timeStampAnchors.map(({ der }) => der);
      const task: LevelOfTask = { format, evidence, raised, wanted, trust: { ...trust, timeStampAnchors } };
      const outcome = await inItsPlace<LevelOutcome>('levelOfTask', task, () => levelOfTask(task));
      if ('level' in outcome) return outcome.level;
      throw outcome.isRevoked ? new CertificateRevoked(outcome.broken) : new LevelBroken(outcome.broken);
    },
  };
}

/** Returns the digests as the audit log records them. */
export function auditedDigests({ prepared }: { readonly prepared: readonly Pick<Prepared<unknown>, 'hash' | 'digest'>[] }): string[] {
  return prepared.map(({ hash, digest }) => `${hash}:${Buffer.from(digest).toString('hex')}`);
}

/**
 * Returns the documents with the digests that `prepare` computed from their files. Reading such a
 * file again, to compare it with a bound digest, throws CONTENT_CHANGED if it has changed.
 * Otherwise a file swapped meanwhile would be signed in place of another.
 */
export function documentsAsPrepared(documents: readonly InputDocument[], { prepared }: PreparedSignatures): readonly InputDocument[] {
  const digests = new Map(prepared.flatMap(({ covers }) => covers.map(({ index, digest }) => [index, digest])));
  return documents.map((document, index) => {
    const { source } = document;
    const digest = digests.get(index);
    if (digest === undefined || !('content' in source) || source.content instanceof Uint8Array) return document;
    const file: SignedFile = { ...source.content, digest };
    return { ...document, source: { content: file } };
  });
}
