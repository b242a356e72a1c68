import type { KeyObject } from 'node:crypto';
import type { Certificate } from '../x509/certificate.ts';
import type { DocumentDigest, Evidence, InputDocument } from '../documents/document.ts';
import type { Additions } from './cms/level-attributes.ts';
import type { SignatureAlgorithm } from '../token/signature-algorithm.ts';

/** The signer as a format sees it: never a private key. */
export interface SignerChain {
  readonly certificate: Certificate;
  readonly publicKey: KeyObject;
  /** From the issuing CA up to the root, DER. */
  readonly issuers: readonly Uint8Array[];
}

/** The time that a format goes by. It is handed in, so that the same input gives the same bytes. */
export interface Moment {
  readonly now: Date;
}

/** What is to be signed of one document, and what `complete` needs. It survives JSON but for its bytes, and never holds content. */
export interface Prepared<State> {
  readonly digest: Uint8Array;
  readonly algorithm: SignatureAlgorithm;
  /** The bytes that the digest was made of, where they are few (`dataToSignMaxBytes`) and at hand. */
  readonly dataToSign: Uint8Array | undefined;
  /** Whether `complete` needs the document again. */
  readonly needsContent: boolean;
  /** Plain JSON. */
  readonly state: State;
  /** Of the document's bytes, where `prepare` hashed them: who reads a file again finds out whether it is still the same. */
  readonly documentDigest?: DocumentDigest | undefined;
}

/** What is to be signed is handed out up to here (contract §5, remotePreSign). */
export const dataToSignMaxBytes = 64 * 1024 - 1;

/** A signature format: two functions and plain data. It calls no token, so a software key is all that its tests need. */
export interface SignatureFormat<Parameters, State> {
  /** @throws {Refusal} where the document or the parameters are not what the format needs. */
  prepare(document: InputDocument, parameters: Parameters, signer: SignerChain, moment: Moment): Prepared<State>;
  /**
   * Puts the value in, checks the result, and returns it. The document is the one that was prepared; undefined only where the prepared state needs no content.
   * `additions`: what raises the level above baseline B, for formats that have levels.
   * @throws {Error} where the result does not verify.
   */
  complete(
    prepared: Prepared<State>,
    value: Uint8Array,
    signer: SignerChain,
    document: InputDocument | undefined,
    additions?: Additions,
  ): Evidence;
}
