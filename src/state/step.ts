import type { RepositoryArgument, RepositoryName, RepositoryResult } from './repository-functions.ts';

/** One of several operations that are committed together. */
export interface Step<N extends RepositoryName = RepositoryName> {
  readonly name: N;
  readonly argument: unknown;
  /** If it returns `false` or nothing, the steps after it are not run. */
  readonly decides?: true;
}

/** Returns a step: an operation with its argument, for `StateStore.commit`. */
export function step<N extends RepositoryName>(
  name: N,
  ...argument: RepositoryArgument<N> extends undefined ? [] : [RepositoryArgument<N>]
): Step<N> {
  return { name, argument: argument[0] };
}

/**
 * Returns a step that decides: the steps after it are run only if its result says that it changed
 * something.
 */
export function deciding<N extends RepositoryName>(one: Step<N>): Step<N> {
  return { ...one, decides: true };
}

const listeners = new WeakMap<Step, () => void>();

/**
 * Returns a step with a callback that is called when its commit is known to be done, before the
 * caller continues.
 */
export function whenCommitted<N extends RepositoryName>(one: Step<N>, told: () => void): Step<N> {
  listeners.set(one, told);
  return one;
}

/** Calls the callbacks of committed steps; for stores. */
export function tellCommitted(steps: readonly Step[]): void {
  for (const one of steps) listeners.get(one)?.();
}

/** Results of steps, in order. */
export type StepResults<S extends readonly Step[]> = { [I in keyof S]: S[I] extends Step<infer N> ? RepositoryResult<N> : never };
