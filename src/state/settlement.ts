import { AsyncLocalStorage } from 'node:async_hooks';
import type { Refusal } from '../result-codes.ts';
import type { Step } from './step.ts';

export interface SettledAnswer {
  readonly answer: object;
  /**
   * Time after which the answer is worthless, such as the end of a one-time password; milliseconds
   * since epoch.
   */
  readonly until?: number;
  /** `otp_id` of the one-time password in the answer, which is repeated as long as that is open. */
  readonly whileOtp?: string;
}

/** Outcome of an operation, as known to the commit that settles it. */
export type SettledOutcome = SettledAnswer | { readonly refusal: Refusal };

/**
 * A participant in the commit that settles the current request, such as the keeper of its outcome.
 */
export interface SettlementParty {
  /** Whether the request may only succeed with such a commit, even if nothing else changes. */
  readonly needsCommit: boolean;
  steps(outcome: SettledOutcome): Promise<readonly Step[]>;
}

const currentParties = new AsyncLocalStorage<readonly SettlementParty[]>();

/** Starts the work of a request with the keeper of its outcome as the first party. */
export async function keepingOutcome<T>(keeper: SettlementParty, work: () => Promise<T>): Promise<T> {
  return currentParties.run([keeper], work);
}

/** Runs the work of a request; its settling commits contain the steps of this party too. */
export function settlingWith<T>(party: SettlementParty, work: () => Promise<T>): Promise<T> {
  return currentParties.run([...(currentParties.getStore() ?? []), party], work);
}

/**
 * Returns the steps of all parties to the current request for the commit that makes its change:
 * they keep the outcome and release its evidence. After a crash, all of the commit is there, or
 * nothing. Call it for the last change of a request, when its outcome is final.
 */
export async function outcomeSteps(outcome: SettledOutcome): Promise<readonly Step[]> {
  const steps: Step[] = [];
  for (const party of currentParties.getStore() ?? []) steps.push(...(await party.steps(outcome)));
  return steps;
}

/** Checks whether a party to the current request needs a settling commit. */
export function settlementIsNeeded(): boolean {
  return currentParties.getStore()?.some(({ needsCommit }) => needsCommit) ?? false;
}
