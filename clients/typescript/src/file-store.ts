import { Readable } from 'node:stream';
import type { CallOptions, Connection } from './connection.ts';

/** A file of the transfer store, as requests name it in `FTMData`. */
export interface StoredFile {
  readonly fileID: string;
  /** In bytes. */
  readonly fileSize: number;
}

export interface UploadOptions extends CallOptions {
  /** Media type (default: `application/octet-stream`). */
  readonly mediaType?: string;
  /** Name that a download has. */
  readonly fileName?: string;
  /** Bytes of the content, if known: the service then reserves the space at once. */
  readonly sizeBytes?: number;
}

/** Content of a stored file. */
export interface Download {
  /** Read it to its end, or destroy it: the connection is in use until then. */
  readonly content: Readable;
  readonly sizeBytes: number;
  readonly mediaType: string;
  readonly fileName: string | undefined;
}

/** The file transfer store of the client's tenant: big documents are sent and fetched as streams. */
export class FileStore {
  readonly #connection: Connection;
  readonly #path: string;

  constructor(connection: Connection, path: string) {
    this.#connection = connection;
    this.#path = path;
  }

  /** Stores a file. It is sent once: if there is no answer, upload it again; an incomplete file expires. */
  async upload(content: Readable | Uint8Array, options: UploadOptions = {}): Promise<StoredFile> {
    const sizeBytes = content instanceof Uint8Array ? content.byteLength : options.sizeBytes;
    const headers = {
      'Content-Type': options.mediaType ?? 'application/octet-stream',
      ...(options.fileName === undefined ? {} : { 'X-File-Name': encodeURIComponent(options.fileName) }),
      ...(sizeBytes === undefined ? {} : { 'Content-Length': sizeBytes }),
    };
    const stream = content instanceof Uint8Array ? Readable.from([content]) : content;
    return JSON.parse(await this.#connection.send(this.#path, stream, headers, options)) as StoredFile;
  }

  /** Fetches a file. */
  async download(fileID: string, options?: CallOptions): Promise<Download> {
    const response = await this.#connection.file('GET', this.#pathOf(fileID), options);
    const name = response.headers['x-file-name'];
    return {
      content: response,
      sizeBytes: Number(response.headers['content-length']),
      mediaType: response.headers['content-type'] ?? 'application/octet-stream',
      fileName: typeof name === 'string' ? decodeURIComponent(name) : undefined,
    };
  }

  /** Deletes a file before it expires. */
  async delete(fileID: string, options?: CallOptions): Promise<void> {
    const response = await this.#connection.file('DELETE', this.#pathOf(fileID), options);
    response.resume();
  }

  #pathOf(fileID: string): string {
    return `${this.#path}/${encodeURIComponent(fileID)}`;
  }
}
