import type { RepositoryName } from '../../src/state/repository-functions.ts';
import type { StateStore } from '../../src/state/state-store.ts';
import type { Step, StepResults } from '../../src/state/step.ts';
import { StoreUnavailable } from '../../src/state/store-unavailable.ts';
import { StoreAround } from '../support/store-around.ts';

/** A state store as a process sees it that dies before or after a commit: nothing that it does afterwards reaches the database. */
export class DyingStore extends StoreAround {
  readonly #operation: RepositoryName;
  readonly #moment: 'before' | 'after';
  #isDead = false;

  /** It dies with the first commit that has this operation. */
  constructor(store: StateStore, operation: RepositoryName, moment: 'before' | 'after') {
    super(store);
    this.#operation = operation;
    this.#moment = moment;
  }

  async commit<const S extends readonly Step[]>(steps: S): Promise<StepResults<S>> {
    const isLast = steps.some(({ name }) => name === this.#operation);
    if (this.#isDead || (isLast && this.#moment === 'before')) this.#die();
    const results = await this.store.commit(steps);
    if (isLast) this.#die();
    return results;
  }

  /** The store goes on without it. */
  override async close(): Promise<void> {
    return Promise.resolve();
  }

  #die(): never {
    this.#isDead = true;
    throw new StoreUnavailable('dead');
  }
}
