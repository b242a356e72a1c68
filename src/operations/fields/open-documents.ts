import type { FileHandle } from 'node:fs/promises';
import type { Content } from '../../documents/content.ts';
import type { DocumentOrigin, InputDocument } from '../../documents/document.ts';
import { hasChanged, openForReading, type ReadableFile } from '../../documents/paths/read-path.ts';
import { Refusal } from '../../result-codes.ts';
import { hashOfOid } from '../../cms/algorithm-identifier.ts';
import type { Context } from '../operation.ts';
import type { InputDocumentField } from './input-documents.ts';

/** Total size of a request's files that are read into memory; the rest is read piece by piece. */
const inMemoryMaxBytes = 1024 * 1024;

/** What decides on the files that a caller may read. */
export interface FileAccess extends Pick<Context, 'transfers'> {
  readonly caller: Pick<Context['caller'], 'tenant'>;
  readonly config: Pick<Context['config'], 'documents' | 'tenants'>;
}

/** Documents of a request, with their open files. */
export class OpenedDocuments {
  readonly documents: InputDocument[] = [];
  readonly #files: { readonly file: ReadableFile; readonly at: string }[] = [];
  readonly #handles: FileHandle[] = [];
  #inMemoryBytes = 0;

  /** Adds a document that is in the request itself. */
  addAtHand(field: InputDocumentField): void {
    const { ID: id, fileName, plainData, base64Data, digest } = field;
    if (digest === undefined) {
      this.#add(field, base64Data?.base64Value ?? plainData?.plainValue ?? new Uint8Array());
      return;
    }
    const hash = hashOfOid(digest.digestAlgOID);
    if (hash === undefined) throw new Error('checkDocuments lets no unknown hash pass');
    this.documents.push({ id, fileName, source: { digest: { hash, value: digest.digestValue } } });
  }

  /** Opens a document. Throws the same errors as `openDocuments`. */
  async add(field: InputDocumentField, at: string, context: FileAccess): Promise<void> {
    const { filePathData, FTMData } = field;
    if (filePathData !== undefined) {
      const { filePath } = filePathData;
      this.#add(field, await this.#openPath(filePath, `${at}/filePathData/filePath`, context), { filePath });
    } else if (FTMData !== undefined) {
      this.#add(field, await this.#openTransfer(FTMData, `${at}/FTMData`, context), { fileID: FTMData.fileID });
    } else this.addAtHand(field);
  }

  /** Whether documents are files, which may change. */
  get areFiles(): boolean {
    return this.#handles.length > 0;
  }

  /**
   * Checks, after the content was read, that no file changed meanwhile.
   * @throws {Refusal} DOCUMENT_INVALID
   */
  async checkUnchanged(): Promise<void> {
    for (const { file, at } of this.#files) {
      if (await hasChanged(file)) throw new Refusal('DOCUMENT_INVALID', { at, message: 'the file changed while it was read' });
    }
  }

  async close(): Promise<void> {
    for (const handle of this.#handles.splice(0)) await handle.close();
  }

  #add({ ID: id, fileName, mimeType, password, plainData }: InputDocumentField, content: Content, origin?: DocumentOrigin): void {
    this.documents.push({ id, fileName, mimeType, password, isText: plainData !== undefined, origin, source: { content } });
  }

  async #openPath(path: string, at: string, { caller, config }: FileAccess): Promise<Content> {
    const { readDirectories, fileMaxBytes } = config.documents;
    const file = await openForReading(path, config.tenants[caller.tenant]?.readDirectories ?? readDirectories, at);
    this.#handles.push(file.handle);
    this.#files.push({ file, at });
    const bytes = Number(file.status.size);
    if (bytes > fileMaxBytes)
      throw new Refusal('UNSUPPORTED', { at, message: `the file has ${bytes} bytes; at most ${fileMaxBytes} are supported` });
    return this.#contentOf(file.handle, bytes);
  }

  async #openTransfer(
    { fileID, fileSize }: { fileID: string; fileSize: number },
    at: string,
    { caller, transfers }: FileAccess,
  ): Promise<Content> {
    if (transfers === undefined) throw new Refusal('UNSUPPORTED', { at, message: 'this service has no file transfer store' });
    const opened = await transfers.openFile(caller.tenant, fileID);
    if (opened === undefined) throw new Refusal('FILE_NOT_FOUND', { at: `${at}/fileID`, message: 'no such file in the transfer store' });
    this.#handles.push(opened.handle);
    if (opened.file.bytes !== fileSize) {
      throw new Refusal('FIELDS_INCONSISTENT', { at: `${at}/fileSize`, message: `the file has ${opened.file.bytes} bytes` });
    }
    return this.#contentOf(opened.handle, fileSize);
  }

  async #contentOf(handle: FileHandle, bytes: number): Promise<Content> {
    if (this.#inMemoryBytes + bytes > inMemoryMaxBytes) return { descriptor: handle.fd, bytes };
    this.#inMemoryBytes += bytes;
    const content = Buffer.alloc(bytes);
    let filled = 0;
    while (filled < bytes) {
      const { bytesRead } = await handle.read(content, filled, bytes - filled, filled);
      // It has become shorter, which `checkUnchanged` reports.
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    return content.subarray(0, filled);
  }
}

/** As `openDocuments`, for documents that are in the request itself; otherwise undefined. */
export function documentsAtHand(fields: readonly InputDocumentField[]): OpenedDocuments | undefined {
  if (fields.some(({ filePathData, FTMData }) => filePathData !== undefined || FTMData !== undefined)) return undefined;
  const opened = new OpenedDocuments();
  for (const field of fields) opened.addAtHand(field);
  return opened;
}

/**
 * Opens documents that `checkDocuments` accepted. The caller must close them when the request has
 * ended.
 * @throws {Refusal} FILE_ACCESS_DENIED, FILE_NOT_FOUND; FIELDS_INCONSISTENT for a wrong fileSize;
 * UNSUPPORTED for a file that is too large
 */
export async function openDocuments(fields: readonly InputDocumentField[], context: FileAccess): Promise<OpenedDocuments> {
  const opened = new OpenedDocuments();
  try {
    for (const [index, field] of fields.entries()) await opened.add(field, `/inputDocuments/${index}`, context);
    return opened;
  } catch (error) {
    await opened.close();
    throw error;
  }
}
