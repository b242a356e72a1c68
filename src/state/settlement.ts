import { AsyncLocalStorage } from 'node:async_hooks';
import type { Refusal } from '../result-codes.ts';
import type { Step } from './step.ts';

export interface SettledAnswer {
  readonly answer: object;
  /**
   * Milliseconds since epoch: where the answer is worth nothing afterwards, as a one-time password
   * is.
   */
  readonly until?: number;
  /** `otp_id` of the one-time password that it is about: it is repeated as long as that is open. */
  readonly whileOtp?: string;
}

/** How an operation ends, as the commit that settles it knows. */
export type SettledOutcome = SettledAnswer | { readonly refusal: Refusal };

/** Takes part in the commit that settles the current request, such as the keeper of its outcome. */
export interface SettlementParty {
  /**
   * Whether the request must not end well without such a commit, even where nothing else changes.
   */
  readonly needsCommit: boolean;
  steps(outcome: SettledOutcome): Promise<readonly Step[]>;
}

const currentParties = new AsyncLocalStorage<readonly SettlementParty[]>();

/** Begins a request's work with the keeper of its outcome as the first party. */
export async function keepingOutcome<T>(keeper: SettlementParty, work: () => Promise<T>): Promise<T> {
  return currentParties.run([keeper], work);
}

/**
 * Does a request's work; the commits in it that settle the request contain the steps of this party
 * too.
 */
export async function settlingWith<T>(party: SettlementParty, work: () => Promise<T>): Promise<T> {
  return currentParties.run([...(currentParties.getStore() ?? []), party], work);
}

/**
 * Steps for the commit that changes what the outcome tells of, of all parties to the current
 * request: they keep the outcome, and let its evidence be published. After a crash all of the
 * commit is there, or nothing. Call it for the last change of a request, when nothing can make its
 * outcome another one.
 */
export async function outcomeSteps(outcome: SettledOutcome): Promise<readonly Step[]> {
  const steps: Step[] = [];
  for (const party of currentParties.getStore() ?? []) steps.push(...(await party.steps(outcome)));
  return steps;
}

/** Checks whether a party to the current request needs a commit that settles it. */
export function settlementIsNeeded(): boolean {
  return currentParties.getStore()?.some(({ needsCommit }) => needsCommit) ?? false;
}
