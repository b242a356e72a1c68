/** Exit codes of signetctl (the same table is in docs/signetctl.md). */
export const exitCodes = {
  ok: 0,
  /** The command ran and found something wrong. */
  faultFound: 1,
  usage: 2,
  /** There is no PKCS#11 module or no token, or the token host does not answer. */
  tokenUnreachable: 3,
  pinRefused: 4,
  /** The current state forbids the request. */
  refused: 5,
  /** The command needs signetd, which is not running or does not answer. */
  serviceUnreachable: 6,
  /** The signature of a 2D-Doc code is not that of the certificate. */
  signatureInvalid: 7,
  internalError: 70,
  /** The configuration cannot be used; the daemon uses the same code. */
  configuration: 78,
} as const;

/** Ends a command early, with one sentence for the operator and an exit code. */
export class CommandError extends Error {
  readonly exitCode: number;

  constructor(exitCode: number, message: string) {
    super(message);
    this.exitCode = exitCode;
  }
}
