import { constants, readFileSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import type { S3Config } from '../../config/transfer-store-config.ts';
import { readSecret } from '../../config/secret-reference.ts';
import { S3Bucket } from '../../outgoing/s3/bucket.ts';
import { S3Failed } from '../../outgoing/s3/s3-failed.ts';
import { Refusal } from '../../result-codes.ts';
import type { TransferFileRow } from '../../state/tables/transfer-files.ts';
import type { Logger } from '../../telemetry/log.ts';
import { closing, reopen } from '../paths/descriptors.ts';
import type { ArrivingContent, ContentReader, ListedContent, TransferContents } from './contents.ts';
import { ObjectReader } from './object-reader.ts';
import { contentOf, Spool } from './spool.ts';
import { fileIdForm } from './transfer-parts.ts';
import { TransferStoreUnavailable } from './transfer-store-unavailable.ts';

/**
 * Keeps the content in a bucket of an S3-compatible object store, which instances share. Content is
 * spooled in unnamed files of a local directory: an upload is sent to the bucket when it is
 * complete, with its length and digest, so that a slow caller holds no connection and nothing else
 * can arrive; a document to be signed is fetched before it is read anywhere in it. Downloads are
 * passed on as they come. The digest of whatever is fetched is compared with the state store.
 */
export class ObjectContents implements TransferContents {
  readonly #bucket: S3Bucket;
  readonly #prefix: string;
  readonly #spool: Spool;
  readonly #log: Logger;
  #fault: string | undefined;

  /** `directory`: of the spool. @throws {Error} if the file of authorities cannot be read */
  constructor(s3: S3Config, directory: string, log: Logger) {
    const { endpoint, bucket, region, pathStyle, certificateAuthority, timeoutSeconds, accessKeyId, secretAccessKey } = s3;
    this.#bucket = new S3Bucket({
      ...{ url: new URL(endpoint), bucket, region, pathStyle, timeoutMs: 1000 * timeoutSeconds },
      ...(certificateAuthority === undefined ? {} : { certificateAuthority: readFileSync(certificateAuthority, 'utf8') }),
      credentials: () => ({ accessKeyId: readSecret(accessKeyId), secretAccessKey: readSecret(secretAccessKey) }),
    });
    this.#prefix = s3.prefix;
    this.#spool = new Spool(directory);
    this.#log = log;
  }

  get fault(): string | undefined {
    return this.#fault;
  }

  async prepare(): Promise<void> {
    await this.#spool.prepare();
    try {
      await this.#asked(this.#bucket.probe(this.#prefix));
    } catch (error) {
      // It may come back; a wrong name or key has to be corrected.
      if (error instanceof TransferStoreUnavailable && error.isTemporary) return;
      throw error;
    }
  }

  async create(id: string): Promise<ArrivingContent> {
    const handle = await this.#spool.newFile();
    return {
      handle,
      isLasting: false,
      keep: async (filled) => {
        await this.#asked(this.#bucket.put(this.#keyOf(id), { ...filled, read: () => contentOf(handle) }));
      },
      close: async () => handle.close(),
    };
  }

  async open(file: TransferFileRow): Promise<FileHandle | undefined> {
    const reader = await this.#reader(file);
    if (reader === undefined) return undefined;
    return closing(reader, async () => {
      const spooled = await this.#spool.newFile();
      return closing(spooled, async () => {
        await reader.copyTo(spooled);
        return reopen(spooled, constants.O_RDONLY);
      });
    });
  }

  async openInOrder(file: TransferFileRow): Promise<ContentReader | undefined> {
    return this.#reader(file);
  }

  async remove(id: string): Promise<void> {
    await this.#asked(this.#bucket.delete(this.#keyOf(id)));
  }

  async *list(): AsyncGenerator<readonly ListedContent[], void> {
    for await (const objects of this.#bucket.list(this.#prefix)) {
      yield objects.flatMap(({ key, changedAtMs }) => {
        const id = key.slice(this.#prefix.length);
        return fileIdForm.test(id) ? [{ id, changedAtMs }] : [];
      });
    }
  }

  async probe(): Promise<void> {
    if (this.#fault !== undefined) await this.#asked(this.#bucket.probe(this.#prefix)).catch(() => undefined);
  }

  close(): void {
    this.#bucket.close();
  }

  async #reader(file: TransferFileRow): Promise<ObjectReader | undefined> {
    const stream = await this.#asked(this.#bucket.open(this.#keyOf(file.id), file.bytes));
    return stream === undefined ? undefined : new ObjectReader(stream, file, async (work) => this.#asked(work));
  }

  #keyOf(id: string): string {
    return this.#prefix + id;
  }

  /** Waits for a request, and remembers whether the bucket can be used. */
  async #asked<T>(work: Promise<T>): Promise<T> {
    try {
      const value = await work;
      if (this.#fault !== undefined) this.#log.info('the object store of the transfer store can be used again');
      this.#fault = undefined;
      return value;
    } catch (error) {
      if (!(error instanceof S3Failed)) throw error;
      if (this.#fault !== error.message)
        this.#log.error('the object store of the transfer store cannot be used', { reason: error.message });
      this.#fault = error.message;
      if (error.kind === 'full')
        throw new Refusal('STORE_FULL', { message: 'the object store of the transfer store has no space left', cause: error });
      throw new TransferStoreUnavailable(error.message, { isTemporary: error.kind === 'unavailable', cause: error });
    }
  }
}
