import type { RepositoryName } from '../../src/state/repository-functions.ts';
import type { StateStore } from '../../src/state/state-store.ts';
import type { Step, StepResults } from '../../src/state/step.ts';
import { StoreAround } from './store-around.ts';

/** A state store whose next commits with one operation fail as they are told to; nothing of them is done. */
export class FailingStore extends StoreAround {
  readonly #operation: RepositoryName;
  readonly #failures: Error[] = [];

  constructor(store: StateStore, operation: RepositoryName) {
    super(store);
    this.#operation = operation;
  }

  failNext(...errors: readonly Error[]): void {
    this.#failures.push(...errors);
  }

  async commit<const S extends readonly Step[]>(steps: S): Promise<StepResults<S>> {
    const error = steps.some(({ name }) => name === this.#operation) ? this.#failures.shift() : undefined;
    if (error !== undefined) throw error;
    return this.store.commit(steps);
  }
}
