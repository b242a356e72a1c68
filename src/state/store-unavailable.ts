import { Fault, faults } from '../faults.ts';

export type UnavailableCode = 'STORE_UNAVAILABLE' | 'COMMIT_UNKNOWN';

/** Thrown if a state store cannot be opened: its message names the store and the reason. */
export class StoreNotOpened extends Error {}

/**
 * Thrown if the state store does not answer or cannot be read: nothing is known to have been done,
 * and repeating later is safe. Callers of the service receive 503 (contract §2).
 */
export class StoreUnavailable extends Fault {
  declare readonly code: UnavailableCode;
  readonly reason: string;

  /** `code`: COMMIT_UNKNOWN if a commit may have been done. */
  constructor(reason: string, { code = 'STORE_UNAVAILABLE', cause }: { readonly code?: UnavailableCode; readonly cause?: unknown } = {}) {
    super(code, { message: `${faults[code].text}: ${reason}`, cause });
    this.name = 'StoreUnavailable';
    this.reason = reason;
  }
}
