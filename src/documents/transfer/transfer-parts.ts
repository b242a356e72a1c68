import type { TransferStoreConfig } from '../../config/transfer-store-config.ts';
import { Refusal } from '../../result-codes.ts';
import type { StateStore } from '../../state/state-store.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { TransferMetrics } from '../../telemetry/storage-metrics.ts';
import type { WorkThreads } from '../../threads/work-threads.ts';
import type { TransferContents } from './contents.ts';

/** Services and settings shared by the parts of the transfer store. */
export interface TransferParts {
  readonly store: StateStore;
  readonly config: TransferStoreConfig;
  readonly contents: TransferContents;
  /** Name of this instance. */
  readonly owner: string;
  readonly threads: WorkThreads;
  readonly log: Logger;
  readonly metrics: TransferMetrics;
}

/**
 * Form of a file's identifier, 256 random bits, which is also its name in the directory or bucket.
 */
export const fileIdForm = /^[A-Za-z0-9_-]{43}$/;

export function quotaReached(): Refusal {
  return new Refusal('STORE_FULL', {
    message: "the tenant's files have reached the transfer store's quota; delete some or wait until they expire",
  });
}
