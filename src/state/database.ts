import type { ClockReading } from './clock.ts';
import type { Step } from './step.ts';

/** What callers sent to be committed together, or not at all. */
export interface Work {
  readonly id: number;
  readonly steps: readonly Step[];
}

/** `full`: it cannot be written. `unavailable`: it does not answer, or cannot be read. `defect`: everything else. */
export type FaultKind = 'full' | 'unavailable' | 'defect';

export type Outcome =
  | { readonly id: number; readonly values: readonly unknown[] }
  | { readonly id: number; readonly fault: FaultKind; readonly reason: string };

/** A row that changed, by its table and primary key. `everything`: nothing is known of what changed in a while. */
export type Change = 'everything' | { readonly table: string; readonly id: string };

/** One of the databases, on the database thread. */
export interface Database {
  /** Carries out what waits as one group with one commit, and answers when that commit is on the disk. Never rejects. */
  run(group: readonly Work[]): Promise<Outcome[]>;
  /** Carries out what only reads, beside the groups. Never rejects. Absent: reads are members of groups like the rest. */
  read?(work: Work): Promise<Outcome>;
  /** What was committed, by whomever, since the last call. @throws where the database does not answer */
  changes(): Promise<Change[]>;
  /** What the clock of the server said last, where there is a server. */
  readonly clock?: ClockReading | undefined;
  close(): Promise<void>;
}

export function textOf(error: unknown): string {
  return error instanceof Error ? error.message || error.name : String(error);
}
