/** Thrown for a file that is not a sound PDF, or beyond a limit. */
export class PdfFault extends Error {
  /** `offset`: of the byte in the file where the fault is, counted from 0. */
  constructor(message: string, offset?: number, options?: ErrorOptions) {
    super(offset === undefined ? message : `${message} (offset ${offset})`, options);
    this.name = 'PdfFault';
  }
}

/**
 * Thrown for a file that needs a password, or another one, and for encryption that is not
 * supported.
 */
export class PdfLocked extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'PdfLocked';
  }
}
