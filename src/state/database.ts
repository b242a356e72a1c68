import { revivedError, sentError, sentRefusal, type SentError } from '../faults.ts';
import { Refusal } from '../result-codes.ts';
import type { ClockReading } from './clock.ts';
import type { Step } from './step.ts';
import { StoreUnavailable, type UnavailableCode } from './store-unavailable.ts';

/** What callers sent to be committed together, or not at all. */
export interface Work {
  readonly id: number;
  readonly steps: readonly Step[];
}

/**
 * What an error of the database means. `full`: it cannot be written. `unavailable`: it does not
 * answer, or cannot be read. `defect`: everything else.
 */
export type FaultKind = 'full' | 'unavailable' | 'defect';

/** Why nothing was done, as the database thread sends it. */
export type Failure =
  | SentError
  | { readonly kind: 'unavailable'; readonly code: UnavailableCode; readonly reason: string }
  | { readonly kind: 'defect'; readonly reason: string };

export type Outcome = { readonly id: number; readonly values: readonly unknown[] } | { readonly id: number; readonly failure: Failure };

/**
 * A row that changed, by its table and primary key. `everything`: nothing is known of what changed
 * in a while.
 */
export type Change = 'everything' | { readonly table: string; readonly id: string };

/** One of the databases, on the database thread. */
export interface Database {
  /**
   * Carries out what waits as one group with one commit, and answers when that commit is on the
   * disk. Never rejects.
   */
  run(group: readonly Work[]): Promise<Outcome[]>;
  /**
   * Carries out what only reads, beside the groups. Never rejects. Absent: reads are members of
   * groups like the rest.
   */
  read?(work: Work): Promise<Outcome>;
  /**
   * What was committed, by whomever, since the last call.
   * @throws where the database does not answer
   */
  changes(): Promise<Change[]>;
  /** What the clock of the server said last, where there is a server. */
  readonly clock?: ClockReading | undefined;
  close(): Promise<void>;
}

/**
 * A fault that a repository found is sent as it is; an error of the database, as the kind that it
 * is of.
 */
export function failureOf(error: unknown, kindOf: (error: unknown) => FaultKind): Failure {
  if (error instanceof StoreUnavailable) return { kind: 'unavailable', code: error.code, reason: error.reason };
  const sent = sentError(error);
  if (sent !== undefined) return sent;
  const reason = textOf(error);
  switch (kindOf(error)) {
    case 'full':
      return sentRefusal(new Refusal('STORE_FULL', { cause: error }));
    case 'unavailable':
      return { kind: 'unavailable', code: 'STORE_UNAVAILABLE', reason };
    case 'defect':
      return { kind: 'defect', reason };
  }
}

/** The error that a failure is on the main thread. */
export function errorOf(failure: Failure): Error {
  switch (failure.kind) {
    case 'unavailable':
      return new StoreUnavailable(failure.reason, { code: failure.code });
    case 'defect':
      return new Error(failure.reason);
    case 'fault':
    case 'refusal':
      return revivedError(failure);
  }
}

export function textOf(error: unknown): string {
  return error instanceof Error ? error.message || error.name : String(error);
}
