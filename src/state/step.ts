import type { RepositoryArgument, RepositoryName, RepositoryResult } from './repositories/all.ts';

/** One operation of several that are committed together. */
export interface Step<N extends RepositoryName = RepositoryName> {
  readonly name: N;
  readonly argument: unknown;
}

/** Names an operation with its argument, for `StateStore.commit`. */
export function step<N extends RepositoryName>(
  name: N,
  ...argument: RepositoryArgument<N> extends undefined ? [] : [RepositoryArgument<N>]
): Step<N> {
  return { name, argument: argument[0] };
}

/** The answers of steps, in their order. */
export type StepResults<S extends readonly Step[]> = { [I in keyof S]: S[I] extends Step<infer N> ? RepositoryResult<N> : never };
