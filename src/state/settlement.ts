import { AsyncLocalStorage } from 'node:async_hooks';
import type { Refusal } from '../result-codes.ts';
import type { Step } from './step.ts';

export interface SettledAnswer {
  readonly answer: object;
  /** Milliseconds since epoch: where the answer is worth nothing afterwards, as a one-time password is. */
  readonly until?: number;
  /** `otp_id` of the one-time password that it is about: it is repeated as long as that is open. */
  readonly whileOtp?: string;
}

/** How an operation ends, as the commit that settles it knows. */
export type SettledOutcome = SettledAnswer | { readonly refusal: Refusal };

/** Who keeps the outcome of the request that is being carried out. */
export interface OutcomeKeeper {
  steps(outcome: SettledOutcome): Promise<readonly Step[]>;
}

const currentKeeper = new AsyncLocalStorage<OutcomeKeeper>();

/** Does a request's work; the commits in it that settle the request keep its outcome. */
export async function keepingOutcome<T>(keeper: OutcomeKeeper, work: () => Promise<T>): Promise<T> {
  return currentKeeper.run(keeper, work);
}

/**
 * What keeps the outcome of the current request, for the commit that changes what the outcome tells of: after a crash both are there or neither.
 * None where nobody keeps it. Call it for the last change of a request, when nothing can make its outcome another one.
 */
export async function outcomeSteps(outcome: SettledOutcome): Promise<readonly Step[]> {
  return (await currentKeeper.getStore()?.steps(outcome)) ?? [];
}
