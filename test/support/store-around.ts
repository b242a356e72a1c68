import type { Change } from '../../src/state/database.ts';
import type { RepositoryArgument, RepositoryName, RepositoryResult } from '../../src/state/repository-functions.ts';
import type { StateStore } from '../../src/state/state-store.ts';
import { step, type Step, type StepResults } from '../../src/state/step.ts';

/** A state store around another one: all that reaches it goes through `commit`, where a test has its say. */
export abstract class StoreAround implements StateStore {
  protected readonly store: StateStore;

  constructor(store: StateStore) {
    this.store = store;
  }

  abstract commit<const S extends readonly Step[]>(steps: S): Promise<StepResults<S>>;

  get isShared(): boolean {
    return this.store.isShared;
  }

  async run<N extends RepositoryName>(
    name: N,
    ...argument: RepositoryArgument<N> extends undefined ? [] : [RepositoryArgument<N>]
  ): Promise<RepositoryResult<N>> {
    const [result] = await this.commit([step(name, ...argument)]);
    return result;
  }

  async answer(): Promise<void> {
    return this.store.answer();
  }

  now(): number {
    return this.store.now();
  }

  async refresh(): Promise<void> {
    return this.store.refresh();
  }

  onChange(listener: (change: Change) => void): void {
    this.store.onChange(listener);
  }

  async close(): Promise<void> {
    return this.store.close();
  }
}
