/** How signetctl ends (docs/signetctl.md has the same table). */
export const exitCodes = {
  good: 0,
  /** The command ran and found something wrong. */
  faultFound: 1,
  usage: 2,
  /** No PKCS#11 module, no token, or a token host that does not answer. */
  tokenUnreachable: 3,
  pinRefused: 4,
  /** What was asked must not be done as things are. */
  refused: 5,
  /** The command has to ask signetd, and it does not run or does not answer. */
  serviceUnreachable: 6,
  defect: 70,
  /** The configuration cannot be used; the same code as the daemon's. */
  configuration: 78,
} as const;

/** A command that ends early: one sentence for the operator, and how the program ends. */
export class CommandError extends Error {
  readonly exitCode: number;

  constructor(exitCode: number, message: string) {
    super(message);
    this.exitCode = exitCode;
  }
}
