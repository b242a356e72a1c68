import { revivedError, sentError, sentRefusal, type SentError } from '../faults.ts';
import { Refusal } from '../result-codes.ts';
import type { ClockReading } from './clock.ts';
import type { Step } from './step.ts';
import { StoreUnavailable, type UnavailableCode } from './store-unavailable.ts';

/** Steps that are committed together, or not at all. */
export interface Work {
  readonly id: number;
  readonly steps: readonly Step[];
}

/**
 * Kind of a database error. `full`: the database cannot be written. `unavailable`: it does not
 * answer, or cannot be read. `defect`: any other error.
 */
export type FaultKind = 'full' | 'unavailable' | 'defect';

/** The reason why nothing was done, as the database thread sends it. */
export type Failure =
  | SentError
  | { readonly kind: 'unavailable'; readonly code: UnavailableCode; readonly reason: string }
  | { readonly kind: 'defect'; readonly reason: string };

export type Outcome = { readonly id: number; readonly values: readonly unknown[] } | { readonly id: number; readonly failure: Failure };

/**
 * A changed row, by table and primary key. `everything`: changes may have been missed, so any row
 * may have changed.
 */
export type Change = 'everything' | { readonly table: string; readonly id: string };

/** A database, on the database thread. */
export interface Database {
  /** Runs a group in one commit, and resolves when it is on disk. Never rejects. */
  run(group: readonly Work[]): Promise<Outcome[]>;
  /**
   * Runs read-only work outside the groups. Never rejects. If absent, reads are part of groups like
   * all other work.
   */
  read?(work: Work): Promise<Outcome>;
  /**
   * Returns the changes committed by any instance since the last call.
   * @throws if the database does not answer
   */
  changes(): Promise<Change[]>;
  /** Returns the failure for an error of `changes`. */
  failureOf(error: unknown): Failure;
  /** The last reading of the server's clock, if there is a server. */
  readonly clock?: ClockReading | undefined;
  close(): Promise<void>;
}

/**
 * Returns the failure for an error: a repository's fault as it is, a database error as its kind.
 */
export function failureOf(error: unknown, kindOf: (error: unknown) => FaultKind): Failure {
  if (error instanceof StoreUnavailable) return { kind: 'unavailable', code: error.code, reason: error.reason };
  const sent = sentError(error);
  if (sent !== undefined) return sent;
  const reason = textOf(error);
  switch (kindOf(error)) {
    case 'full':
      return sentRefusal(new Refusal('STORE_FULL', { message: 'writing to the disk failed', cause: error }));
    case 'unavailable':
      return { kind: 'unavailable', code: 'STORE_UNAVAILABLE', reason };
    case 'defect':
      return { kind: 'defect', reason };
  }
}

/** Returns the error for a failure, on the main thread. */
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
