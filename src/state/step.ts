import type { RepositoryArgument, RepositoryName, RepositoryResult } from './operations.ts';

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

/** A step on which those after it depend: they are done where it changed something, which it says by its answer. */
export function deciding<N extends RepositoryName>(one: Step<N>): Step<N> {
  return { ...one, decides: true };
}

/** The answers of steps, in their order. */
export type StepResults<S extends readonly Step[]> = { [I in keyof S]: S[I] extends Step<infer N> ? RepositoryResult<N> : never };
