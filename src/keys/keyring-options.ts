import type { WorkThreads } from '../threads/work-threads.ts';
import type { RecoveryOptions } from './destruction.ts';
import type { PoolOptions } from './key-pool.ts';
import type { SecretPaceOptions } from './secret-pace.ts';

export interface KeyringOptions extends Partial<RecoveryOptions> {
  /**
   * Longer than any attempt takes: older attempts were lost with their instance. Default: two
   * minutes.
   */
  readonly attemptMaxMs?: number;
  /** How long an attempt waits for those before it. Default: 30 seconds. */
  readonly attemptWaitMs?: number;
  /** Threads that hash large documents. Default: the event loop. */
  readonly threads?: Pick<WorkThreads, 'run'>;
  /** Settings of the key pool. Default: no pool. */
  readonly pool?: PoolOptions;
  /** The number of the MAC key in force, and of the oldest one. Default: there is only one. */
  readonly macKey?: { readonly generation: number; readonly oldest?: number };
  /** Paces of wrong secrets by client and tenant. Default: none. */
  readonly pace?: SecretPaceOptions;
}
