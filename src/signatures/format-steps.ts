import type { Evidence, InputDocument } from '../documents/document.ts';
import { unlessChanged, type Moment, type Prepared, type SignerChain, type Signing } from './format.ts';
import { formats, type FormatName } from './formats.ts';
import type { Additions } from './levels/long-term-data.ts';

/** Documents to prepare in one format. Can be cloned into a thread. */
export interface PrepareTask {
  readonly format: FormatName;
  readonly documents: readonly InputDocument[];
  readonly parameters: unknown;
  readonly chain: SignerChain | undefined;
  readonly moment: Moment;
}

/** Signatures to complete in one format. Can be cloned into a thread. */
export interface CompleteTask {
  readonly format: FormatName;
  readonly signatures: readonly ToComplete[];
  readonly signing: Signing | undefined;
}

export interface ToComplete {
  readonly prepared: Prepared<unknown>;
  readonly value: Uint8Array;
  /** Only for levels above baseline B. */
  readonly additions?: Additions | undefined;
}

/** Prepares signatures. @throws {Refusal} if a document or a parameter does not suit the format */
export function prepareTask({ format, documents, parameters, chain, moment }: PrepareTask): readonly Prepared<unknown>[] {
  return formats[format].format.prepare(documents, parameters, chain, moment);
}

/**
 * Completes signatures.
 * @throws {Refusal} DOCUMENT_INVALID if a file has changed
 * @throws {Error} if a result does not verify
 */
export function completeTask({ format, signatures, signing }: CompleteTask): readonly Evidence[] {
  return signatures.map(({ prepared, value, additions }) =>
    unlessChanged(prepared.covers[0]?.index ?? 0, () => formats[format].format.complete(prepared, value, signing, additions)),
  );
}
