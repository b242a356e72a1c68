interface FetchFault {
  readonly cause?: unknown;
  readonly status?: number;
  readonly isLate?: boolean;
}

/**
 * The exchange did not come to a good end. The message says why, and nothing of what was sent; the
 * cause is Node's error of a connection.
 */
export class FetchFailed extends Error {
  /** Status of the answer, where the exchange failed for it. */
  readonly status: number | undefined;
  /** The time was over before the answer was there. */
  readonly isLate: boolean;

  constructor(message: string, { cause, status, isLate = false }: FetchFault = {}) {
    super(message, { cause });
    this.status = status;
    this.isLate = isLate;
  }
}
