import { contentBytes, type Content } from '../../documents/content.ts';
import { DocumentDigests } from '../../documents/document-digests.ts';
import { isFault, refusalOf } from '../../faults.ts';
import { Refusal } from '../../result-codes.ts';
import type { DocumentToRead } from '../../signatures/sessions/session-state.ts';
import { type FileAccess, OpenedDocuments } from '../fields/open-documents.ts';
import type { WorkThreads } from '../../threads/work-threads.ts';

/**
 * Documents that remotePreSign read from files, opened again under the rules that hold for the
 * caller's tenant now. Each must be the same as before, byte for byte.
 */
export class DocumentsAgain {
  readonly #opened = new OpenedDocuments();
  readonly #contents: { readonly document: DocumentToRead; readonly content: Content }[] = [];

  /**
   * Opens the files. The caller must close them.
   * @throws {Refusal} FILE_ACCESS_DENIED, FILE_NOT_FOUND; UNSUPPORTED for a file that is too large
   * now; DOCUMENT_INVALID for one of another size
   */
  static async open(documents: readonly DocumentToRead[], files: FileAccess): Promise<DocumentsAgain> {
    const again = new DocumentsAgain();
    try {
      for (const document of documents) again.#contents.push({ document, content: await again.#open(document, files) });
      return again;
    } catch (error) {
      await again.close();
      throw error;
    }
  }

  /**
   * Reads the files and returns their contents, valid until `close`.
   * @throws {Refusal} DOCUMENT_INVALID if one has another digest than before; UNSUPPORTED if
   *   hashing takes too long
   */
  async compared(threads: Pick<WorkThreads, 'run'>): Promise<readonly Content[]> {
    const digests = new DocumentDigests(this.#opened.documents, threads);
    for (const [index, { document }] of this.#contents.entries()) {
      const opened = this.#opened.documents[index];
      if (opened === undefined) throw new RangeError('each document was opened');
      const digest = await digests.of(opened, document.digest.hash).catch((error: unknown) => {
        if (isFault(error, 'TASK_TIMEOUT')) throw refusalOf(error, { message: `reading the documents again takes too long; ${staysOpen}` });
        throw isFault(error, 'CONTENT_CHANGED') ? changed(document, error) : error;
      });
      if (digest === undefined || Buffer.compare(digest, document.digest.value) !== 0) throw changed(document);
    }
    return this.#contents.map(({ content }) => content);
  }

  /**
   * Checks, after the contents were used, that no file changed since it was opened.
   * @throws {Refusal} DOCUMENT_INVALID
   */
  async checkUnchanged(): Promise<void> {
    await this.#opened.checkUnchanged().catch((error: unknown) => {
      throw error instanceof Refusal ? withoutPointer(error, `${error.text}; ${staysOpen}`) : error;
    });
  }

  async close(): Promise<void> {
    await this.#opened.close();
  }

  async #open(document: DocumentToRead, files: FileAccess): Promise<Content> {
    const { id, origin, bytes } = document;
    const source = 'filePath' in origin ? { filePathData: origin } : { FTMData: { ...origin, fileSize: bytes } };
    await this.#opened.add({ ID: id, ...source }, '', files).catch((error: unknown) => {
      if (!(error instanceof Refusal)) throw error;
      throw withoutPointer(error, `the document ${JSON.stringify(id)} cannot be read again: ${error.text}; ${staysOpen}`);
    });
    const opened = this.#opened.documents.at(-1);
    if (opened === undefined || !('content' in opened.source)) throw new Error('a document that is read again has content');
    if (contentBytes(opened.source.content) !== bytes) throw changed(document);
    return opened.source.content;
  }
}

const staysOpen = 'the session stays open';

function changed({ id }: DocumentToRead, cause?: unknown): Refusal {
  const message = `the file of the document ${JSON.stringify(id)} changed since remotePreSign; ${staysOpen}`;
  return new Refusal('DOCUMENT_INVALID', { message, cause });
}

/** Fields of the request that opened the session are none of this one. */
function withoutPointer(refusal: Refusal, message: string): Refusal {
  return new Refusal(refusal.code, { message, cause: refusal, recorded: refusal.recorded });
}

/**
 * Returns an error of completion. Pointers to documents belong to the request that opened the
 * session, so a refusal names the document by its ID instead.
 */
export function namingDocument(error: unknown, documents: readonly { readonly id: string }[]): unknown {
  if (!(error instanceof Refusal)) return error;
  const [pointer, index] = /^\/inputDocuments(?:\/(\d+))?/.exec(error.at ?? '') ?? [];
  if (pointer === undefined) return error;
  const document = index === undefined ? undefined : documents[Number(index)];
  const text = document === undefined ? error.text : `the document ${JSON.stringify(document.id)}: ${error.text}`;
  return withoutPointer(error, `${text}; ${staysOpen}`);
}
