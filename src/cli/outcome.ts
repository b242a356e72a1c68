import { exitCodes } from './exit-codes.ts';
import { printable, printableJson } from './printable.ts';

/** What a command has to say: the same for people and for programs. */
export interface Outcome {
  /** Printed with --json. */
  readonly json: unknown;
  /** Printed otherwise; printable already, each line with its end. */
  readonly text: string;
  /** What is wrong: a line each on standard error, and exit code 1. */
  readonly faults?: readonly string[];
  /** What is worth knowing: a line each on standard error. */
  readonly notes?: readonly string[];
}

/** Prints it and answers the exit code. */
export function tell(outcome: Outcome, asJson: boolean): number {
  process.stdout.write(asJson ? `${printableJson(outcome.json)}\n` : outcome.text);
  for (const note of outcome.notes ?? []) complain(`note: ${note}`);
  for (const fault of outcome.faults ?? []) complain(fault);
  return (outcome.faults ?? []).length === 0 ? exitCodes.good : exitCodes.faultFound;
}

/** One message on standard error; a line of it cannot be more than a line of the terminal's. */
export function complain(message: string): void {
  for (const line of message.split('\n')) process.stderr.write(`signetctl: ${printable(line)}\n`);
}
