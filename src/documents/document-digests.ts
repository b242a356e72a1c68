import type { WorkThreads } from '../threads/work-threads.ts';
import type { HashName } from '../token/signature-algorithm.ts';
import { contentThread, isBig } from './big-content.ts';
import { digest as digestHere, type DigestTask } from './content-thread.ts';
import type { InputDocument } from './document.ts';

/**
 * Digests of a request's documents by any hash, each computed once, in threads if the content is
 * large.
 */
export class DocumentDigests {
  readonly #threads: Pick<WorkThreads, 'run'> | undefined;
  readonly #known = new Map<InputDocument, Map<HashName, Promise<Uint8Array | undefined>>>();
  /** Whether they are computed in threads. */
  readonly areBig: boolean;

  /** Without `threads`, everything is hashed on the event loop. */
  constructor(documents: readonly InputDocument[], threads: Pick<WorkThreads, 'run'> | undefined) {
    this.#threads = threads;
    this.areBig = isBig(documents.flatMap(({ source }) => ('content' in source ? [source.content] : [])));
  }

  /** Returns a digest; undefined for a document given as a digest by another hash. */
  async of(document: InputDocument, hash: HashName): Promise<Uint8Array | undefined> {
    const ofDocument = this.#known.get(document) ?? new Map<HashName, Promise<Uint8Array | undefined>>();
    this.#known.set(document, ofDocument);
    const made = ofDocument.get(hash) ?? this.#digest(document, hash);
    ofDocument.set(hash, made);
    return made;
  }

  async #digest({ source }: InputDocument, hash: HashName): Promise<Uint8Array | undefined> {
    if ('digest' in source) return source.digest.hash === hash ? source.digest.value : undefined;
    const task: DigestTask = { content: source.content, hash };
    if (this.areBig && this.#threads !== undefined) {
      const [made] = await this.#threads.run<readonly Uint8Array[]>(contentThread.digests, { tasks: [task] });
      return made;
    }
    return digestHere(task);
  }
}
