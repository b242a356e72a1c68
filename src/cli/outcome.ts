import { exitCodes } from './exit-codes.ts';
import { printable, printableJson } from './printable.ts';

/** Result of a command: the same for people and for programs. */
export interface Outcome {
  /** Printed with --json. */
  readonly json: unknown;
  /** Printed otherwise; already printable, each line with a line feed. */
  readonly text: string;
  /** Faults: one line each on standard error, and exit code 1 unless `faultCode` is another. */
  readonly faults?: readonly string[];
  readonly faultCode?: number;
  /** Notes: one line each on standard error. */
  readonly notes?: readonly string[];
}

/** Prints an outcome and returns the exit code. */
export function printOutcome(outcome: Outcome, asJson: boolean): number {
  process.stdout.write(asJson ? `${printableJson(outcome.json)}\n` : outcome.text);
  for (const note of outcome.notes ?? []) complain(`note: ${note}`);
  for (const fault of outcome.faults ?? []) complain(fault);
  return (outcome.faults ?? []).length === 0 ? exitCodes.ok : (outcome.faultCode ?? exitCodes.faultFound);
}

/**
 * Prints a message on standard error; nothing in it can forge further lines or control the
 * terminal.
 */
export function complain(message: string): void {
  for (const line of message.split('\n')) process.stderr.write(`signetctl: ${printable(line)}\n`);
}
