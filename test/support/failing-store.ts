import type { Change } from '../../src/state/database.ts';
import type { RepositoryArgument, RepositoryName, RepositoryResult } from '../../src/state/operations.ts';
import type { StateStore } from '../../src/state/state-store.ts';
import { step, type Step, type StepResults } from '../../src/state/step.ts';

/** A state store whose next commits with one operation fail as they are told to; nothing of them is done. */
export class FailingStore implements StateStore {
  readonly #store: StateStore;
  readonly #operation: RepositoryName;
  readonly #failures: Error[] = [];

  constructor(store: StateStore, operation: RepositoryName) {
    this.#store = store;
    this.#operation = operation;
  }

  failNext(...errors: readonly Error[]): void {
    this.#failures.push(...errors);
  }

  get isShared(): boolean {
    return this.#store.isShared;
  }

  async run<N extends RepositoryName>(
    name: N,
    ...argument: RepositoryArgument<N> extends undefined ? [] : [RepositoryArgument<N>]
  ): Promise<RepositoryResult<N>> {
    const [result] = await this.commit([step(name, ...argument)]);
    return result;
  }

  async commit<const S extends readonly Step[]>(steps: S): Promise<StepResults<S>> {
    const error = steps.some(({ name }) => name === this.#operation) ? this.#failures.shift() : undefined;
    if (error !== undefined) throw error;
    return this.#store.commit(steps);
  }

  async answer(): Promise<void> {
    return this.#store.answer();
  }

  now(): number {
    return this.#store.now();
  }

  async refresh(): Promise<void> {
    return this.#store.refresh();
  }

  onChange(listener: (change: Change) => void): void {
    this.#store.onChange(listener);
  }

  async close(): Promise<void> {
    return this.#store.close();
  }
}
