import type { TransferStoreConfig } from '../../config/documents-config.ts';
import { Refusal } from '../../result-codes.ts';
import type { StateStore } from '../../state/state-store.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { TransferMetrics } from '../../telemetry/transfer-metrics.ts';
import type { WorkThreads } from '../../threads/work-threads.ts';

/** What the parts of the transfer store work with. */
export interface TransferParts {
  readonly store: StateStore;
  readonly config: TransferStoreConfig;
  /** Name of this instance. */
  readonly owner: string;
  readonly threads: WorkThreads;
  readonly log: Logger;
  readonly metrics: TransferMetrics;
}

/** A file's identifier: 256 random bits. It names the file on the disk too. */
export const fileIdForm = /^[A-Za-z0-9_-]{43}$/;

export function quotaReached(): Refusal {
  return new Refusal('STORE_FULL', {
    message: "the files of this tenant have reached the transfer store's quota; delete some, or wait until they expire",
  });
}
