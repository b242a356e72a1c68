import { contentBytes } from '../documents/content-pieces.ts';
import type { Evidence, InputDocument } from '../documents/document.ts';
import { isFault, refusalOf } from '../faults.ts';
import { Refusal, type ResultName } from '../result-codes.ts';
import type { WorkThreads } from '../threads/work-threads.ts';
import { takesLong } from '../verification/effort.ts';
import type { Additions } from './cms/levels.ts';
import type { Moment, Prepared, SignatureFormat, SignerChain } from './format.ts';

/** Content from here on is hashed, assembled and checked outside of the event loop; files always are. */
const bigContentBytes = 256 * 1024;

interface PrepareTask<Parameters> {
  readonly documents: readonly InputDocument[];
  readonly parameters: readonly Parameters[];
  readonly signer: SignerChain;
  readonly moment: Moment;
}

interface CompleteTask<State> {
  readonly prepared: readonly Prepared<State>[];
  readonly values: readonly Uint8Array[];
  readonly signer: SignerChain;
  /** The documents that were prepared; undefined for those whose prepared state needs no content. */
  readonly documents: readonly (InputDocument | undefined)[];
  /** One for each document, where the level is above baseline B. */
  readonly additions?: readonly Additions[];
}

/** What a step answers across threads: errors lose their class there, and a refusal must not lose its code. */
type Outcome<T> =
  | { readonly done: T }
  | { readonly refused: { readonly code: ResultName; readonly at: string | undefined; readonly text: string } };

/** What a format's thread module exports: the same two steps, for all documents of a request. */
export interface FormatThread<Parameters, State> {
  readonly prepare: (task: PrepareTask<Parameters>) => Outcome<readonly Prepared<State>[]>;
  readonly complete: (task: CompleteTask<State>) => Outcome<readonly Evidence[]>;
}

export function formatThread<Parameters, State>(format: SignatureFormat<Parameters, State>): FormatThread<Parameters, State> {
  return {
    prepare: (task) => outcomeOf(() => prepareHere(format, task)),
    complete: (task) => outcomeOf(() => completeHere(format, task)),
  };
}

/** Content that takes long to prepare goes there from here on. */
const slowContentBytes = 4 * 1024;

/** A format that works on big content, and on many values, in threads, and on what is small at once. */
export class ThreadedFormat<Parameters, State> {
  readonly #format: SignatureFormat<Parameters, State>;
  readonly #module: URL;
  readonly #isSlow: (parameters: Parameters) => boolean;

  /** `isSlow`: whether it may take long to prepare a document, for what is in it and not for its size. */
  constructor(format: SignatureFormat<Parameters, State>, module: URL, isSlow: (parameters: Parameters) => boolean = () => false) {
    this.#format = format;
    this.#module = module;
    this.#isSlow = isSlow;
  }

  /** @throws {Refusal} where a document or its parameters are not what the format needs. */
  async prepare(task: PrepareTask<Parameters>, threads: Pick<WorkThreads, 'run'>): Promise<readonly Prepared<State>[]> {
    const isBig = areBig(task.documents, task.parameters.some(this.#isSlow) ? slowContentBytes : bigContentBytes);
    return isBig ? this.#inThread(threads, 'prepare', task) : prepareHere(this.#format, task);
  }

  /** @throws {Error} where the result does not verify */
  async complete(task: CompleteTask<State>, threads: WorkThreads): Promise<readonly Evidence[]> {
    const needed = task.documents.map((document, index) => (at(task.prepared, index).needsContent ? document : undefined));
    const whatIsNeeded = { ...task, documents: needed };
    const isLong = areBig(needed) || takesLong(task.signer.publicKey, task.values.length);
    return isLong ? this.#inThread(threads, 'complete', whatIsNeeded) : completeHere(this.#format, whatIsNeeded);
  }

  async #inThread<T>(threads: Pick<WorkThreads, 'run'>, step: 'prepare' | 'complete', task: object): Promise<T> {
    const outcome = await threads.run<Outcome<T>>(this.#module, step, task);
    if ('done' in outcome) return outcome.done;
    const { code, at: pointer, text } = outcome.refused;
    throw new Refusal(code, pointer === undefined ? { message: text } : { at: pointer, message: text });
  }
}

function outcomeOf<T>(step: () => T): Outcome<T> {
  try {
    return { done: step() };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { code, at: pointer, message } = error;
    return { refused: { code, at: pointer, text: pointer === undefined ? message : message.slice(`${pointer}: `.length) } };
  }
}

function areBig(documents: readonly (InputDocument | undefined)[], bigBytes = bigContentBytes): boolean {
  const contents = documents.flatMap((document) =>
    document !== undefined && 'content' in document.source ? [document.source.content] : [],
  );
  return (
    contents.some((content) => !(content instanceof Uint8Array)) ||
    contents.reduce((bytes, content) => bytes + contentBytes(content), 0) > bigBytes
  );
}

function prepareHere<Parameters, State>(
  format: SignatureFormat<Parameters, State>,
  { documents, parameters, signer, moment }: PrepareTask<Parameters>,
): readonly Prepared<State>[] {
  return documents.map((document, index) =>
    unchanged(`/inputDocuments/${index}`, () => format.prepare(document, at(parameters, index), signer, moment)),
  );
}

function completeHere<Parameters, State>(
  format: SignatureFormat<Parameters, State>,
  { prepared, values, signer, documents, additions }: CompleteTask<State>,
): readonly Evidence[] {
  return prepared.map((one, index) => {
    const document = documents[index];
    if (one.needsContent && document === undefined) throw new Error('the document that was prepared is needed once more');
    return unchanged(`/inputDocuments/${index}`, () => format.complete(one, at(values, index), signer, document, additions?.[index]));
  });
}

/** A file that changes while it is signed is no longer the one that was asked for. */
function unchanged<T>(pointer: string, step: () => T): T {
  try {
    return step();
  } catch (error) {
    if (!isFault(error, 'CONTENT_CHANGED')) throw error;
    throw refusalOf(error, { at: pointer, message: 'the file changed while it was being signed' });
  }
}

function at<T>(list: readonly T[], index: number): T {
  const value = list[index];
  if (value === undefined) throw new RangeError(`no element ${index} in a list of ${list.length}`);
  return value;
}
