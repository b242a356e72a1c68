interface FetchFault {
  readonly cause?: unknown;
  readonly status?: number;
  readonly isLate?: boolean;
}

/**
 * Thrown if an exchange failed. The message gives the reason, and nothing of what was sent; the
 * cause is Node's connection error.
 */
export class FetchFailed extends Error {
  /** Status of the answer, if that is the reason. */
  readonly status: number | undefined;
  /** True if the time ran out before the answer arrived. */
  readonly isLate: boolean;

  constructor(message: string, { cause, status, isLate = false }: FetchFault = {}) {
    super(message, { cause });
    this.status = status;
    this.isLate = isLate;
  }
}
