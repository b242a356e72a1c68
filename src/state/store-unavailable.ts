import { Fault, faults } from '../faults.ts';

export type UnavailableCode = 'STORE_UNAVAILABLE' | 'COMMIT_UNKNOWN';

/**
 * The state store does not answer, or what it holds cannot be read: nothing is known to have been
 * done. Repeating later is safe. Callers of the service see 503 (contract §2).
 */
export class StoreUnavailable extends Fault {
  declare readonly code: UnavailableCode;
  readonly reason: string;

  /** `code`: COMMIT_UNKNOWN where a commit may be done all the same. */
  constructor(reason: string, { code = 'STORE_UNAVAILABLE', cause }: { readonly code?: UnavailableCode; readonly cause?: unknown } = {}) {
    super(code, { message: `${faults[code].text}: ${reason}`, cause });
    this.name = 'StoreUnavailable';
    this.reason = reason;
  }
}
