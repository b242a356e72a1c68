import { moduleFile } from '../config/module-file.ts';
import type { WorkThreads } from '../threads/work-threads.ts';
import type { HashName } from '../token/signature-algorithm.ts';
import { contentBytes } from './content-pieces.ts';
import { digest as digestHere, type DigestTask } from './digest-thread.ts';
import type { InputDocument } from './document.ts';

/** Content of a request from here on, all documents together, is hashed outside of the event loop; files always are. */
const bigContentBytes = 256 * 1024;
const thread = moduleFile('./digest-thread', import.meta.url);

/** Digests of a request's documents by any hash: each is computed once, those of big content in threads. */
export class DocumentDigests {
  readonly #threads: Pick<WorkThreads, 'run'> | undefined;
  readonly #known = new Map<InputDocument, Map<HashName, Promise<Uint8Array | undefined>>>();
  /** Whether it takes more than moments to compute them. */
  readonly areBig: boolean;

  /** Without `threads`, all is hashed at once. */
  constructor(documents: readonly InputDocument[], threads: Pick<WorkThreads, 'run'> | undefined) {
    this.#threads = threads;
    const contents = documents.flatMap(({ source }) => ('content' in source ? [source.content] : []));
    const bytes = contents.reduce((sum, content) => sum + contentBytes(content), 0);
    this.areBig = bytes > bigContentBytes || contents.some((content) => !(content instanceof Uint8Array));
  }

  /** Undefined for a document that is given as a digest of another hash. */
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
    if (this.areBig && this.#threads !== undefined) return this.#threads.run<Uint8Array>(thread, 'digest', task);
    return digestHere(task);
  }
}
