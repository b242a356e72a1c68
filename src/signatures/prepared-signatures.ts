import type { Evidence, InputDocument } from '../documents/document.ts';
import type { WorkThreads } from '../threads/work-threads.ts';
import type { SignatureAlgorithm } from '../token/signature-algorithm.ts';
import type { Prepared, SignerChain } from './format.ts';
import type { ThreadedFormat } from './threaded-format.ts';
import { cms, raw } from './threaded-formats.ts';

/** The formats by the names under which prepared signatures are stored. */
export const formatNames = ['raw', 'cms'] as const;
export type FormatName = (typeof formatNames)[number];

/** What a format prepared of the documents of one request, in their order. It survives JSON but for its bytes. */
export interface PreparedSignatures {
  readonly format: FormatName;
  /** That of every signature of the request. */
  readonly algorithm: SignatureAlgorithm;
  /** The states are the format's own. */
  readonly prepared: readonly Prepared<unknown>[];
}

/** What is left to do of a signature once its value is known. */
export interface Completion {
  readonly values: readonly Uint8Array[];
  readonly signer: SignerChain;
  /** Undefined for those whose prepared state needs no content. */
  readonly documents: readonly (InputDocument | undefined)[];
}

/** Puts the values in: evidence of each document. @throws {Error} where a result does not verify */
export async function completeSignatures(
  { format, prepared }: PreparedSignatures,
  completion: Completion,
  threads: WorkThreads,
): Promise<readonly Evidence[]> {
  return formats[format](prepared, completion, threads);
}

const formats: Readonly<Record<FormatName, Complete>> = { raw: completing(raw), cms: completing(cms) };

type Complete = (prepared: readonly Prepared<unknown>[], completion: Completion, threads: WorkThreads) => Promise<readonly Evidence[]>;

function completing<Parameters, State>(format: ThreadedFormat<Parameters, State>): Complete {
  return async (prepared, { values, signer, documents }, threads) =>
    // Prepared by this very format, which the name says.
    format.complete({ prepared: prepared as readonly Prepared<State>[], values, signer, documents }, threads);
}
