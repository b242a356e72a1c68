import type { Change } from '../../src/state/database.ts';
import type { Step, StepResults } from '../../src/state/step.ts';
import { StoreAround } from './store-around.ts';

/** Tells what is above it of changes when a test says so, as a database does. */
export class TellingStore extends StoreAround {
  readonly #listeners: ((change: Change) => void)[] = [];

  override onChange(listener: (change: Change) => void): void {
    this.#listeners.push(listener);
  }

  override async commit<const S extends readonly Step[]>(steps: S): Promise<StepResults<S>> {
    return this.store.commit(steps);
  }

  tell(change: Change): void {
    for (const listener of this.#listeners) listener(change);
  }
}
