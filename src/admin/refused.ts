/** A command that must not be done as things are, in words for the operator: a line a reason. */
export class CommandRefused extends Error {
  readonly faults: readonly string[];

  constructor(...faults: readonly string[]) {
    super(faults.join('; '));
    this.faults = faults;
  }
}

/** What a command gives: its result, and what is worth knowing. */
export interface Done {
  readonly result: unknown;
  readonly notes?: readonly string[];
}
