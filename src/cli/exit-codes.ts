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
  /** setup waits for a certificate from outside. */
  waiting: 8,
  /** A second user refused the command, or none approved it in time (admin.approvals). */
  notApproved: 9,
  internalError: 70,
  /** The configuration cannot be used; the daemon uses the same code. */
  configuration: 78,
} as const;

/**
 * For each exit code except 0: its stable name in errors that are printed as JSON, and its meaning.
 */
export const failures: readonly { readonly exitCode: number; readonly code: string; readonly meaning: string }[] = [
  { exitCode: exitCodes.faultFound, code: 'fault-found', meaning: 'the command ran and found a fault' },
  { exitCode: exitCodes.usage, code: 'usage', meaning: 'the command line is wrong' },
  { exitCode: exitCodes.tokenUnreachable, code: 'token-unreachable', meaning: 'the token cannot be reached' },
  { exitCode: exitCodes.pinRefused, code: 'pin-refused', meaning: 'the token refuses the PIN' },
  { exitCode: exitCodes.refused, code: 'refused', meaning: 'the command is refused in the present state' },
  { exitCode: exitCodes.serviceUnreachable, code: 'service-unreachable', meaning: 'signetd is needed, but does not answer' },
  { exitCode: exitCodes.signatureInvalid, code: 'signature-invalid', meaning: 'twoddoc decode: the signature is not valid' },
  { exitCode: exitCodes.waiting, code: 'waiting', meaning: 'setup waits for a certificate from outside' },
  { exitCode: exitCodes.notApproved, code: 'not-approved', meaning: 'a second user refused the command, or none approved it in time' },
  { exitCode: exitCodes.internalError, code: 'internal-error', meaning: 'internal error in signetctl' },
  { exitCode: exitCodes.configuration, code: 'configuration-invalid', meaning: 'the configuration is not valid' },
];

/** Ends a command early, with one sentence for the operator and an exit code. */
export class CommandError extends Error {
  readonly exitCode: number;

  constructor(exitCode: number, message: string) {
    super(message);
    this.exitCode = exitCode;
  }
}
