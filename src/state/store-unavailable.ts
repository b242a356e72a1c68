/**
 * The state store does not answer, or what it holds cannot be read: nothing is known to have been done. Repeating later is safe. Callers of
 * the service see 503 (contract §2).
 */
export class StoreUnavailable extends Error {
  constructor(reason: string, cause?: unknown) {
    super(`the state store is not available: ${reason}`, { cause });
    this.name = 'StoreUnavailable';
  }
}

/** The text of the one failure after which a commit may be done all the same. */
export const commitIsUnknown = 'nobody can tell whether a commit was done';
