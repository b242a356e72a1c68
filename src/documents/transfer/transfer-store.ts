import { randomBytes } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import type { TransferStoreConfig } from '../../config/transfer-store-config.ts';
import { Refusal } from '../../result-codes.ts';
import { step, type Step } from '../../state/step.ts';
import type { TransferFileRow } from '../../state/tables/transfer-files.ts';
import { closing } from '../paths/descriptors.ts';
import { contentBytes, type EvidencePiece } from '../content.ts';
import { writePieces } from '../big-content.ts';
import { Arrival, type Arriving } from './arrival.ts';
import type { ArrivingContent, ContentReader, Filled } from './contents.ts';
import { DirectoryContents } from './directory-contents.ts';
import { ObjectContents } from './object-contents.ts';
import { Sweeper } from './sweeper.ts';
import { fileIdForm, quotaReached, type TransferParts } from './transfer-parts.ts';
import { errorCode } from '../../telemetry/error-code.ts';

const renewEveryMs = 10_000;
/** An unfinished file that its instance does not renew for this long is abandoned. */
const arrivingMs = 60_000;

/** Owner and name of a file. */
export interface FileDescription {
  readonly tenant: string;
  readonly mediaType: string;
  readonly fileName: string | undefined;
}

export interface StoredFile {
  readonly fileID: string;
  readonly fileSize: number;
  /** Hexadecimal. */
  readonly sha256: string;
}

/** Evidence in the store that is not yet available for download. */
export interface StagedTransfer {
  readonly file: StoredFile;
  /** Step for the commit that settles the request; from then on the file survives a crash. */
  staging(): Step;
  /** Step for the commit that makes it available. */
  publishing(): Step;
  published(): void;
  /** Step for the commit that abandons it. */
  withdrawing(): Step;
  /** Removes the abandoned file. */
  discard(): Promise<void>;
  /** Releases the object once it is no longer used. */
  release(): void;
}

/**
 * An open file of the store. The caller must close it. It remains readable if it expires meanwhile.
 */
export interface OpenTransfer {
  readonly handle: FileHandle;
  readonly file: TransferFileRow;
}

/** An open file of the store that is read in order. */
export interface OpenDownload {
  readonly reader: ContentReader;
  readonly file: TransferFileRow;
}

/**
 * File transfer store (contract §4). The state store lists the files; a directory or a bucket holds
 * their content under random names. A file is recorded with its share of the quota before its first
 * byte, and becomes available with the commit that marks it complete and synced. After a crash,
 * files that were only recorded are removed. Instances that share a state store share that place.
 */
export class TransferStore {
  readonly #parts: TransferParts;
  readonly #sweeper: Sweeper;
  readonly #arriving = new Set<string>();
  readonly #renewing: NodeJS.Timeout;

  private constructor(parts: TransferParts) {
    this.#parts = parts;
    this.#sweeper = new Sweeper(parts);
    this.#renewing = setInterval(() => void this.#renew(), renewEveryMs).unref();
  }

  /**
   * Prepares the directory or the bucket, and removes what an earlier run left. An object store that
   * does not answer is no error: requests for files are answered 503 until it does.
   * @throws {Error} if the directory or the bucket cannot be used as it is configured
   */
  static async open(given: Omit<TransferParts, 'contents'>): Promise<TransferStore> {
    const { store, config, owner, log } = given;
    const contents =
      config.s3 === undefined ? new DirectoryContents(config.directory) : new ObjectContents(config.s3, config.directory, log);
    const parts = { ...given, contents };
    await contents.prepare();
    await store.run('endTransfersOf', store.isShared ? owner : undefined);
    const transfers = new TransferStore(parts);
    await transfers.#sweeper.start();
    return transfers;
  }

  get config(): TransferStoreConfig {
    return this.#parts.config;
  }

  /** Returns, by part, why the place of the files cannot be used now. */
  warnings(): Record<string, string> {
    const { fault } = this.#parts.contents;
    return fault === undefined ? {} : { transferStore: fault };
  }

  async stop(): Promise<void> {
    clearInterval(this.#renewing);
    await this.#sweeper.stop();
    this.#parts.contents.close();
  }

  /**
   * Receives a file as a stream. `announced`: its size in bytes, if known; received bytes are
   * counted regardless.
   * @throws {Refusal} STORE_FULL if the quota is reached or writing to the disk fails
   * @throws what `pieces` throws; the file is then removed
   */
  async receive(
    pieces: AsyncIterable<readonly Uint8Array[]>,
    { announced, ...description }: FileDescription & { readonly announced: number | undefined },
  ): Promise<StoredFile> {
    const { id, stored } = await this.#arrive(description, announced ?? 0, async (content, arriving) => {
      const arrival = new Arrival(content, arriving);
      return closing(arrival, async () => arrival.take(pieces));
    });
    const { store, metrics } = this.#parts;
    try {
      await store.run('storeTransfer', { id, ...stored, ends_at: this.#endsAt() });
    } catch (error) {
      await this.#sweeper.discard(id);
      throw storeFault(error);
    } finally {
      this.#arriving.delete(id);
    }
    metrics.moved('in', stored.bytes);
    return { fileID: id, fileSize: stored.bytes, sha256: stored.sha256 };
  }

  /**
   * Stores evidence, which is not available before it is published. Throws the same errors as
   * `receive`.
   */
  async stage(pieces: readonly EvidencePiece[], description: FileDescription): Promise<StagedTransfer> {
    const bytes = pieces.reduce((total, piece) => total + contentBytes(piece), 0);
    const { id, stored } = await this.#arrive(description, bytes, async ({ handle }) => {
      const written = await writePieces(pieces, handle, this.#parts.threads);
      return { bytes: written.bytes, sha256: written.sha256.toString('hex') };
    });
    return {
      file: { fileID: id, fileSize: stored.bytes, sha256: stored.sha256 },
      staging: () => step('stageTransfer', { id, ...stored, ends_at: this.#endsAt() }),
      publishing: () => this.publishing(id),
      published: () => {
        this.#parts.metrics.moved('in', stored.bytes);
      },
      withdrawing: () => step('withdrawTransfer', id),
      discard: async () => void (await this.#sweeper.discard(id)),
      release: () => void this.#arriving.delete(id),
    };
  }

  /** Returns the step for the commit that publishes staged evidence. */
  publishing(id: string): Step<'publishTransfer'> {
    return step('publishTransfer', { id, endsAt: this.#endsAt() });
  }

  /** Opens a file; undefined if the tenant has no such file. */
  async openFile(tenant: string, id: string): Promise<OpenTransfer | undefined> {
    const file = await this.#find(tenant, id);
    if (file === undefined) return undefined;
    const handle = await this.#parts.contents.open(file).catch(refuseFault);
    // Otherwise it expired between the two checks.
    return handle === undefined ? undefined : { handle, file };
  }

  /**
   * Opens a file for a download, which reads it in order; undefined if the tenant has no such file.
   */
  async openDownload(tenant: string, id: string): Promise<OpenDownload | undefined> {
    const file = await this.#find(tenant, id);
    const reader = file === undefined ? undefined : await this.#parts.contents.openInOrder(file);
    return file === undefined || reader === undefined ? undefined : { reader, file };
  }

  /** Records a complete download. */
  sent(bytes: number): void {
    this.#parts.metrics.moved('out', bytes);
  }

  /**
   * Removes a file; once it returns, the file is no longer available. Returns false if the tenant
   * has no such file.
   */
  async remove(tenant: string, id: string): Promise<boolean> {
    if (!fileIdForm.test(id)) return false;
    const isEnded = await this.#parts.store.run('endTransfer', { id, tenant, now: Date.now() });
    if (isEnded) await this.#sweeper.discard(id);
    return isEnded;
  }

  async #find(tenant: string, id: string): Promise<TransferFileRow | undefined> {
    return fileIdForm.test(id) ? this.#parts.store.run('findTransfer', { id, tenant, now: Date.now() }) : undefined;
  }

  /** Fills and stores a file. Its reservation is renewed as long as it is in `#arriving`. */
  async #arrive(
    description: FileDescription,
    bytes: number,
    fill: (content: ArrivingContent, arriving: Arriving) => Promise<Filled>,
  ): Promise<{ readonly id: string; readonly stored: Filled }> {
    const { store, contents } = this.#parts;
    const id = await this.#begin(description, bytes);
    this.#arriving.add(id);
    try {
      const content = await contents.create(id);
      return await closing(content, async () => {
        const stored = await fill(content, { id, store, quota: this.#quota, reserved: bytes });
        await content.keep(stored);
        return { id, stored };
      });
    } catch (error) {
      this.#arriving.delete(id);
      await this.#sweeper.discard(id);
      throw storeFault(error);
    }
  }

  #endsAt(): number {
    return Date.now() + 1000 * this.#parts.config.keepSeconds;
  }

  async #begin({ tenant, mediaType, fileName }: FileDescription, bytes: number): Promise<string> {
    const id = randomBytes(32).toString('base64url');
    const { store, owner } = this.#parts;
    const named = { id, tenant, media_type: mediaType, file_name: fileName ?? null };
    const isBegun = await store.run('beginTransfer', { ...named, owner, bytes, ends_at: Date.now() + arrivingMs, quota: this.#quota });
    if (!isBegun) throw quotaReached();
    return id;
  }

  get #quota(): { bytes: number; files: number } {
    const { tenantMaxBytes, tenantMaxFiles } = this.#parts.config;
    return { bytes: tenantMaxBytes, files: tenantMaxFiles };
  }

  async #renew(): Promise<void> {
    if (this.#arriving.size === 0) return;
    try {
      await this.#parts.store.run('renewTransfers', { ids: [...this.#arriving], until: Date.now() + arrivingMs });
    } catch {
      // Retried next time; otherwise the files are abandoned.
    }
  }
}

/**
 * Converts a file system error, which here means that the store's own disk failed, to a refusal.
 */
function storeFault(error: unknown): unknown {
  if (error instanceof Refusal || errorCode(error) === undefined || !/^E[A-Z0-9]+$/.test(errorCode(error) ?? '')) return error;
  return new Refusal('STORE_FULL', { message: 'writing to the disk of the transfer store failed', cause: error });
}

function refuseFault(error: unknown): never {
  throw storeFault(error);
}
