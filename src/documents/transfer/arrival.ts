import { createHash } from 'node:crypto';
import type { TransferQuota } from '../../state/repositories/transfer-files.ts';
import type { StateStore } from '../../state/state-store.ts';
import type { ArrivingContent, Filled } from './contents.ts';
import { quotaReached } from './transfer-parts.ts';

/**
 * A file of unknown size reserves quota in increments between these limits, each as large as all
 * previous ones together.
 */
const growthMinBytes = 1024 * 1024;
const growthMaxBytes = 64 * 1024 * 1024;

const syncEveryBytes = 32 * 1024 * 1024;

export interface Arriving {
  readonly id: string;
  readonly store: StateStore;
  readonly quota: TransferQuota;
  /** Bytes of the tenant's quota reserved at the start. */
  readonly reserved: number;
}

/** A file being received. */
export class Arrival {
  readonly #content: ArrivingContent;
  readonly #arriving: Arriving;
  #reserved: number;
  #syncing: Promise<void> | undefined;
  #syncedBytes = 0;

  constructor(content: ArrivingContent, arriving: Arriving) {
    this.#content = content;
    this.#arriving = arriving;
    this.#reserved = arriving.reserved;
  }

  /** Writes the pieces. @throws {Refusal} STORE_FULL if the quota is exceeded */
  async take(pieces: AsyncIterable<readonly Uint8Array[]>): Promise<Filled> {
    const hash = createHash('sha256');
    let bytes = 0;
    for await (const batch of pieces) {
      let more = 0;
      for (const piece of batch) {
        hash.update(piece);
        more += piece.length;
      }
      await this.#reserve(bytes + more);
      await this.#write(batch, more);
      bytes += more;
      this.#syncEarly(bytes);
    }
    await this.#syncing;
    return { bytes, sha256: hash.digest('hex') };
  }

  /** Waits for what is in progress; the content can be closed then. */
  async close(): Promise<void> {
    await this.#syncing?.catch(() => undefined);
  }

  /** Syncs during the transfer, so that the final sync has little to do. */
  #syncEarly(bytes: number): void {
    if (!this.#content.isLasting || this.#syncing !== undefined || bytes - this.#syncedBytes < syncEveryBytes) return;
    this.#syncedBytes = bytes;
    const syncing = this.#content.handle.datasync().finally(() => {
      this.#syncing = undefined;
    });
    // If the error persists, the final sync fails too.
    syncing.catch(() => undefined);
    this.#syncing = syncing;
  }

  async #write(batch: readonly Uint8Array[], length: number): Promise<void> {
    const { bytesWritten } = await this.#content.handle.writev(batch);
    if (bytesWritten === length) return;
    // Partial write: writing the rest gives the actual error.
    await this.#content.handle.writeFile(Buffer.concat(batch).subarray(bytesWritten));
  }

  async #reserve(bytes: number): Promise<void> {
    if (bytes <= this.#reserved) return;
    const needed = bytes - this.#reserved;
    const wanted = Math.max(needed, Math.min(growthMaxBytes, Math.max(growthMinBytes, this.#reserved)));
    for (const by of new Set([wanted, needed])) {
      if (await this.#arriving.store.run('growTransfer', { id: this.#arriving.id, by, quota: this.#arriving.quota })) {
        this.#reserved += by;
        return;
      }
    }
    throw quotaReached();
  }
}
