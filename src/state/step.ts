import type { RepositoryArgument, RepositoryName, RepositoryResult } from './repository-functions.ts';

/** One operation of several that are committed together. */
export interface Step<N extends RepositoryName = RepositoryName> {
  readonly name: N;
  readonly argument: unknown;
  /** Where it answers `false` or nothing, the steps after it are not done. */
  readonly decides?: true;
}

/** Names an operation with its argument, for `StateStore.commit`. */
export function step<N extends RepositoryName>(
  name: N,
  ...argument: RepositoryArgument<N> extends undefined ? [] : [RepositoryArgument<N>]
): Step<N> {
  return { name, argument: argument[0] };
}

/**
 * A step on which those after it depend: they are done where it changed something, which it says by
 * its answer.
 */
export function deciding<N extends RepositoryName>(one: Step<N>): Step<N> {
  return { ...one, decides: true };
}

const listeners = new WeakMap<Step, () => void>();

/**
 * Has somebody told when the commit that the step belongs to is known to be done, before whoever
 * asked for it goes on.
 */
export function whenCommitted<N extends RepositoryName>(one: Step<N>, told: () => void): Step<N> {
  listeners.set(one, told);
  return one;
}

/** For stores: these steps are done, for good. */
export function tellCommitted(steps: readonly Step[]): void {
  for (const one of steps) listeners.get(one)?.();
}

/** The answers of steps, in their order. */
export type StepResults<S extends readonly Step[]> = { [I in keyof S]: S[I] extends Step<infer N> ? RepositoryResult<N> : never };
