import type { Evidence, InputDocument } from '../documents/document.ts';
import type { WorkThreads } from '../threads/work-threads.ts';
import type { SignatureAlgorithm } from '../token/signature-algorithm.ts';
import type { AskedLevel } from './levels/asked-level.ts';
import type { CmsState } from './cms/cms.ts';
import { completeAtLevel } from './levels/raise-level.ts';
import type { Prepared, SignerChain } from './format.ts';
import type { LevelOrder, Levels } from './levels/level-order.ts';
import { cms, raw } from './threaded-formats.ts';

/** The formats by the names under which prepared signatures are stored. */
export const formatNames = ['raw', 'cms'] as const;
export type FormatName = (typeof formatNames)[number];

/** What a format prepared of the documents of one request, in their order. It survives JSON but for its bytes. */
export interface PreparedSignatures {
  readonly format: FormatName;
  /** That of every signature of the request. */
  readonly algorithm: SignatureAlgorithm;
  /** Above baseline B, where one is asked for. */
  readonly level: AskedLevel | undefined;
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

/** What completing works with. */
export interface Completing {
  readonly threads: WorkThreads;
  /** How levels above baseline B are reached. */
  readonly levels: Pick<Levels, 'order'>;
}

/** Puts the values in: evidence of each document. @throws {Refusal} where a level is not reached; {Error} where a result does not verify */
export async function completeSignatures(
  { format, level, prepared }: PreparedSignatures,
  completion: Completion,
  { threads, levels }: Completing,
): Promise<readonly Evidence[]> {
  const order = level === undefined ? undefined : levels.order(level, completion.signer);
  return formats[format]({ prepared, ...completion }, order, threads);
}

interface Task<State> extends Completion {
  readonly prepared: readonly Prepared<State>[];
}
type Complete<State> = (task: Task<State>, order: LevelOrder | undefined, threads: WorkThreads) => Promise<readonly Evidence[]>;

const formats: Readonly<Record<FormatName, Complete<unknown>>> = {
  raw: stored<null>(async (task, _, threads) => raw.complete(task, threads)),
  cms: stored<CmsState>(async (task, order, threads) =>
    order === undefined ? cms.complete(task, threads) : completeAtLevel(cms, task, order, threads),
  ),
};

/** The states were prepared by this very format, which the name says. */
function stored<State>(complete: Complete<State>): Complete<unknown> {
  return async ({ prepared, ...completion }, order, threads) =>
    complete({ ...completion, prepared: prepared as readonly Prepared<State>[] }, order, threads);
}
