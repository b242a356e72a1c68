import type { KeyObject } from 'node:crypto';
import { bigContentBytes } from '../documents/big-content.ts';
import type { Content, DocumentDigest } from '../documents/content.ts';
import type { Evidence, InputDocument } from '../documents/document.ts';
import { isFault, refusalOf } from '../faults.ts';
import { Refusal } from '../result-codes.ts';
import type { HashName, SignatureAlgorithm } from '../token/signature-algorithm.ts';
import type { Certificate } from '../x509/certificate.ts';
import type { Additions } from './levels/long-term-data.ts';

/** The signer as a format sees it, without the private key. */
export interface SignerChain {
  readonly certificate: Certificate;
  readonly publicKey: KeyObject;
  /** From the issuing CA up to the root, DER. */
  readonly issuers: readonly Uint8Array[];
  /** Present if the chain is from the service's own records: a caller chose none of it. */
  readonly isOwn?: true;
}

/** The current time, passed as an argument so that the same input gives the same bytes. */
export interface Moment {
  readonly now: Date;
  /** On the event loop: what takes more than some milliseconds is not done. */
  readonly mustBeQuick?: boolean;
}

/** A document that a signature covers. */
export interface CoveredDocument {
  /** Index in the request. */
  readonly index: number;
  /**
   * Digest of its bytes if `prepare` hashed them; detects changes when the file is read again.
   */
  readonly digest?: DocumentDigest | undefined;
}

/** Content of a signature that is a whole document of the request. */
export interface WholeDocument {
  /** Index in `contents`. */
  readonly content: number;
  /** Index in the request. */
  readonly document: number;
  /** Digest of its bytes. */
  readonly digest: DocumentDigest;
}

/** A signature that lacks only its value. Everything except its byte arrays survives JSON. */
export interface Prepared<State> {
  /**
   * Identifies the signature among those of a request: the ID of its document, or of the first one.
   */
  readonly id: string;
  readonly covers: readonly CoveredDocument[];
  readonly hash: HashName;
  /** Digest that the key signs. */
  readonly digest: Uint8Array;
  /** The hashed bytes, if they are in memory and at most `dataToSignMaxBytes`. */
  readonly dataToSign: Uint8Array | undefined;
  /** Content that `complete` needs. */
  readonly contents: readonly Content[];
  /**
   * Contents that a session does not keep if their document can be read again: `complete` then gets
   * them from its file, compared with the digest.
   */
  readonly readAgain?: readonly WholeDocument[] | undefined;
  /** What the caller must know of the documents. */
  readonly notice?: string | undefined;
  /** Plain JSON. */
  readonly state: State;
}

const obsoleteMax = 10;

/** Returns the notice about existing signatures that hold, but use obsolete algorithms. */
export function obsoleteNotice(obsolete: readonly string[]): string | undefined {
  if (obsolete.length === 0) return undefined;
  const more = obsolete.length > obsoleteMax ? [`and ${obsolete.length - obsoleteMax} more`] : [];
  return `existing signatures hold, but use obsolete algorithms: ${[...obsolete.slice(0, obsoleteMax), ...more].join(', ')}`;
}

/** Maximum size of the data to be signed that `remotePreSign` returns (contract §5). */
export const dataToSignMaxBytes = 64 * 1024 - 1;

/** Algorithm and certificate of a signature value. */
export interface Signing {
  readonly algorithm: SignatureAlgorithm;
  readonly chain: SignerChain;
}

/** Cost of preparing documents. */
export interface Workload {
  /** Size in bytes above which documents are prepared in a work thread; 0: always. */
  readonly threadBeyondBytes: number;
  /** `parsing`: parses untrusted input; `hashing`: mostly hashes. */
  readonly lane: 'parsing' | 'hashing';
  /** More documents than these are prepared in a thread; absent: as many as are usual. */
  readonly documentsOnLoopMax?: number;
  /** Checks whether a document in memory may take long although it is small. */
  readonly isRisky?: (content: Uint8Array) => boolean;
  /** A deadline shorter than that of the lane, and the refusal of a request that exceeds it. */
  readonly deadline?: { readonly ms: number; readonly at: string; readonly message: string };
}

/** Work that is mostly hashing. */
export const usualWorkload: Workload = { threadBeyondBytes: bigContentBytes, lane: 'hashing' };

/**
 * A signature format: functions on plain data. It does not call the token, so its tests need only a
 * software key.
 */
export interface SignatureFormat<Parameters, State> {
  /** Returns the workload of `prepare` with these parameters. */
  workload(parameters: Parameters): Workload;
  /** Returns the workload of `complete` with contents. */
  completion(state: State): Workload;
  /**
   * Prepares the signatures of a request's documents, in the order of the documents.
   * `chain` is undefined if the format binds no certificate and none was given.
   * @throws {Refusal} if a document or a parameter does not suit the format
   * @throws {Fault} NOT_QUICK
   */
  prepare(
    documents: readonly InputDocument[],
    parameters: Parameters,
    chain: SignerChain | undefined,
    moment: Moment,
  ): readonly Prepared<State>[];
  /**
   * Inserts the value, verifies the result and returns it. `signing` is undefined if the signer is
   * unknown. `additions` raise the level above baseline B, in formats that have levels.
   * @throws {Error} if the result does not verify
   */
  complete(prepared: Prepared<State>, value: Uint8Array, signing: Signing | undefined, additions?: Additions): Evidence;
}

/**
 * Prepares one signature for each document, as most formats do.
 * @throws {Refusal} DOCUMENT_INVALID if a file changes meanwhile
 * @throws the errors of `prepare`
 */
export function oneForEach<State>(
  documents: readonly InputDocument[],
  prepare: (
    document: InputDocument,
    index: number,
  ) => {
    readonly signature: Omit<Prepared<State>, 'id' | 'covers'>;
    readonly documentDigest?: DocumentDigest;
  },
): readonly Prepared<State>[] {
  return documents.map((document, index) =>
    unlessChanged(index, () => {
      const { signature, documentDigest } = prepare(document, index);
      return { id: document.id, covers: [{ index, digest: documentDigest }], ...signature };
    }),
  );
}

/**
 * Runs a step on a document.
 * @throws {Refusal} DOCUMENT_INVALID if its file changes meanwhile: the caller asked to sign the
 * earlier content
 */
export function unlessChanged<T>(index: number, step: () => T): T {
  try {
    return step();
  } catch (error) {
    if (!isFault(error, 'CONTENT_CHANGED')) throw error;
    throw refusalOf(error, { at: `/inputDocuments/${index}`, message: 'the file changed while it was being signed' });
  }
}

/** Runs a step on the document at a JSON Pointer, which its refusals then name. @throws {Refusal} */
export function refusingAt<T>(at: string, step: () => T): T {
  try {
    return step();
  } catch (error) {
    if (!(error instanceof Refusal) || error.at !== undefined) throw error;
    throw new Refusal(error.code, { at, message: error.text, cause: error, recorded: error.recorded });
  }
}
