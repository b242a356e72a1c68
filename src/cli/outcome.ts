import { exitCodes, failures } from './exit-codes.ts';
import { compactJson, printable, printableJson } from './printable.ts';

/** Result of a command: the same for people and for programs. */
export interface Outcome {
  /** Printed with --json; undefined if the command has written its result itself. */
  readonly json: unknown;
  /** Printed otherwise; already printable, each line with a line feed. */
  readonly text: string;
  /** Faults: one line each on standard error, and exit code 1 unless `faultCode` is another. */
  readonly faults?: readonly string[];
  readonly faultCode?: number;
  /** Whether `text` already shows the faults, so that they are not printed again after it. */
  readonly showsFaults?: boolean;
  /** Notes: one line each on standard error. */
  readonly notes?: readonly string[];
}

let isJson = false;

/** Chooses the form of everything that is printed from now on: text, or JSON. */
export function printAsJson(asJson: boolean): void {
  isJson = asJson;
}

/** Whether results and messages are printed as JSON. */
export function printsJson(): boolean {
  return isJson;
}

/** Prints an outcome and returns the exit code. */
export function printOutcome({
  json,
  text,
  faults = [],
  faultCode = exitCodes.faultFound,
  showsFaults = false,
  notes = [],
}: Outcome): number {
  if (!isJson) process.stdout.write(text);
  else if (json !== undefined) process.stdout.write(`${printableJson(json)}\n`);
  for (const note of notes) printNote(note);
  if (faults.length === 0) return exitCodes.ok;
  return showsFaults && !isJson ? faultCode : printFailure(faultCode, faults);
}

/** Prints a note on standard error; as JSON, `{"note":{"message"}}`. */
export function printNote(text: string): void {
  if (isJson) process.stderr.write(`${compactJson({ note: { message: text } })}\n`);
  else complain(`note: ${text}`);
}

/** Prints what a part of the program logs on standard error; as JSON, like a note. */
export function printLogged(text: string): void {
  if (isJson) printNote(text);
  else complain(text);
}

/**
 * Prints why a command failed on standard error, each fault on its line; as JSON, one object on one
 * line: `{"error":{"code","exitCode","message","faults"}}`. Returns the exit code.
 */
export function printFailure(exitCode: number, faults: readonly string[]): number {
  if (isJson) {
    const code = failures.find((one) => one.exitCode === exitCode)?.code ?? 'internal-error';
    process.stderr.write(`${compactJson({ error: { code, exitCode, message: faults.join('\n'), faults } })}\n`);
  } else for (const fault of faults) complain(fault);
  return exitCode;
}

/**
 * Prints a message on standard error; nothing in it can forge further lines or control the
 * terminal.
 */
function complain(message: string): void {
  for (const line of message.split('\n')) process.stderr.write(`signetctl: ${printable(line)}\n`);
}
