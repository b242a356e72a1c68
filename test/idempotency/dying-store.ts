import type { Change } from '../../src/state/database.ts';
import type { RepositoryArgument, RepositoryName, RepositoryResult } from '../../src/state/operations.ts';
import type { StateStore } from '../../src/state/state-store.ts';
import { step, type Step, type StepResults } from '../../src/state/step.ts';
import { StoreUnavailable } from '../../src/state/store-unavailable.ts';

/** A state store as a process sees it that dies before or after a commit: nothing that it does afterwards reaches the database. */
export class DyingStore implements StateStore {
  readonly #store: StateStore;
  readonly #operation: RepositoryName;
  readonly #moment: 'before' | 'after';
  #isDead = false;

  /** It dies with the first commit that has this operation. */
  constructor(store: StateStore, operation: RepositoryName, moment: 'before' | 'after') {
    this.#store = store;
    this.#operation = operation;
    this.#moment = moment;
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
    const isLast = steps.some(({ name }) => name === this.#operation);
    if (this.#isDead || (isLast && this.#moment === 'before')) this.#die();
    const results = await this.#store.commit(steps);
    if (isLast) this.#die();
    return results;
  }

  now(): number {
    return this.#store.now();
  }

  async answer(): Promise<void> {
    return this.#store.answer();
  }

  async refresh(): Promise<void> {
    return this.#store.refresh();
  }

  onChange(listener: (change: Change) => void): void {
    this.#store.onChange(listener);
  }

  async close(): Promise<void> {
    return Promise.resolve();
  }

  #die(): never {
    this.#isDead = true;
    throw new StoreUnavailable('dead');
  }
}
