/** Runs in a work thread. */
import { Refusal, type ResultName } from '../result-codes.ts';
import { completeTask, prepareTask, type CompleteTask, type PrepareTask } from './format-steps.ts';

/** Outcome of a step. Errors lose their class on the way out of a thread, and a refusal must keep its code. */
export type Outcome<T> =
  | { readonly done: T }
  | { readonly refused: { readonly code: ResultName; readonly at: string | undefined; readonly text: string } };

export function prepare(task: PrepareTask): Outcome<ReturnType<typeof prepareTask>> {
  return outcomeOf(() => prepareTask(task));
}

export function complete(task: CompleteTask): Outcome<ReturnType<typeof completeTask>> {
  return outcomeOf(() => completeTask(task));
}

function outcomeOf<T>(step: () => T): Outcome<T> {
  try {
    return { done: step() };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { code, at, message } = error;
    return { refused: { code, at, text: at === undefined ? message : message.slice(`${at}: `.length) } };
  }
}
