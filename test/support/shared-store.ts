import type { StateStore } from '../../src/state/state-store.ts';
import type { Step, StepResults } from '../../src/state/step.ts';
import { StoreAround } from './store-around.ts';

/** A store that says that other instances may change it: nothing that was read from it is used again unasked. */
class SharedStore extends StoreAround {
  override get isShared(): boolean {
    return true;
  }

  override async commit<const S extends readonly Step[]>(steps: S): Promise<StepResults<S>> {
    return this.store.commit(steps);
  }
}

/** Returns the store as one that other instances may share. */
export const asShared = (store: StateStore): StateStore => new SharedStore(store);
