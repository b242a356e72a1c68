import type { InputDocument } from '../documents/document.ts';
import { LongAnswer } from '../documents/long-answer.ts';
import type { WorkThreads } from '../threads/work-threads.ts';
import type { Evidence, FinishedEvidence } from '../documents/document.ts';
import type { Moment, Prepared, SignatureFormat, SignerChain } from './format.ts';

/** Content from here on is hashed, assembled and checked outside of the event loop. */
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
}

/** Evidence as it leaves a thread: its base64, in memory that threads share. */
interface SharedEvidence extends Omit<Evidence, 'content'> {
  readonly base64: SharedArrayBuffer;
}

/** What a format's thread module exports: the same two steps, for all documents of a request. */
export interface FormatThread<Parameters, State> {
  readonly prepare: (task: PrepareTask<Parameters>) => readonly Prepared<State>[];
  readonly complete: (task: CompleteTask<State>) => readonly SharedEvidence[];
}

export function formatThread<Parameters, State>(format: SignatureFormat<Parameters, State>): FormatThread<Parameters, State> {
  return {
    prepare: (task) => prepareHere(format, task),
    complete: (task) => completeHere(format, task).map(({ content, ...rest }) => ({ ...rest, base64: sharedBase64(content) })),
  };
}

/** A format that works on big content in threads, and on small content at once. */
export class ThreadedFormat<Parameters, State> {
  readonly #format: SignatureFormat<Parameters, State>;
  readonly #module: URL;

  constructor(format: SignatureFormat<Parameters, State>, module: URL) {
    this.#format = format;
    this.#module = module;
  }

  async prepare(task: PrepareTask<Parameters>, threads: WorkThreads): Promise<readonly Prepared<State>[]> {
    if (!areBig(task.documents)) return prepareHere(this.#format, task);
    return threads.run<readonly Prepared<State>[]>(this.#module, 'prepare', task);
  }

  /** @throws {Error} where the result does not verify */
  async complete(
    task: CompleteTask<State>,
    documents: readonly InputDocument[],
    threads: WorkThreads,
  ): Promise<readonly FinishedEvidence[]> {
    if (!areBig(documents)) {
      return completeHere(this.#format, task).map(({ content, ...rest }) => ({ ...rest, base64: base64Of(content) }));
    }
    const shared = await threads.run<readonly SharedEvidence[]>(this.#module, 'complete', task);
    return shared.map(({ base64, ...rest }) => ({ ...rest, base64: new LongAnswer(new Uint8Array(base64)) }));
  }
}

function areBig(documents: readonly InputDocument[]): boolean {
  let bytes = 0;
  for (const { source } of documents) if ('content' in source) bytes += source.content.length;
  return bytes > bigContentBytes;
}

function prepareHere<Parameters, State>(
  format: SignatureFormat<Parameters, State>,
  { documents, parameters, signer, moment }: PrepareTask<Parameters>,
): readonly Prepared<State>[] {
  return documents.map((document, index) => format.prepare(document, at(parameters, index), signer, moment));
}

function completeHere<Parameters, State>(
  format: SignatureFormat<Parameters, State>,
  { prepared, values, signer }: CompleteTask<State>,
): readonly Evidence[] {
  return prepared.map((one, index) => format.complete(one, at(values, index), signer));
}

function base64Of(content: Uint8Array): string {
  return Buffer.from(content.buffer, content.byteOffset, content.length).toString('base64');
}

function sharedBase64(content: Uint8Array): SharedArrayBuffer {
  const text = base64Of(content);
  const shared = new SharedArrayBuffer(text.length);
  Buffer.from(shared).write(text, 'latin1');
  return shared;
}

function at<T>(list: readonly T[], index: number): T {
  const value = list[index];
  if (value === undefined) throw new RangeError(`no element ${index} in a list of ${list.length}`);
  return value;
}
