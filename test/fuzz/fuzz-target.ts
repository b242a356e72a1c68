import { isFault, refusalOf } from '../../src/faults.ts';
import { Refusal } from '../../src/result-codes.ts';
import type { WorkThreads } from '../../src/threads/work-threads.ts';
import type { RandomNumber } from './random-choice.ts';

/** A verifier: `input` makes bytes at random, `run` has them verified and returns the outcome in one word. */
export interface FuzzTarget {
  input(random: RandomNumber): Uint8Array;
  /** @throws what is a defect: anything but a result and a refusal of the catalogue */
  run(input: Uint8Array, threads: Pick<WorkThreads, 'run'>): Promise<string>;
}

/** Returns what the work returns, or the code of its refusal. @throws any other error */
export async function outcomeOf(work: () => Promise<string>): Promise<string> {
  try {
    return await work();
  } catch (error) {
    const refusal = isFault(error, 'CONTENT_CHANGED') ? refusalOf(error) : error;
    if (refusal instanceof Refusal && refusal.code !== 'INTERNAL' && refusal.message !== '') return refusal.code;
    throw error;
  }
}
