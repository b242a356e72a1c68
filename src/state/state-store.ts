import type { Change } from './database.ts';
import type { RepositoryArgument, RepositoryName, RepositoryResult } from './repository-functions.ts';
import type { Step, StepResults } from './step.ts';

/** The state store as the rooms above see it: named operations, each of them one transaction. */
export interface StateStore {
  /**
   * Whether other instances may change it too: what authorises is then reserved in the database,
   * not in memory.
   */
  readonly isShared: boolean;
  /**
   * @throws {Refusal} STORE_FULL if the database cannot be written
   * @throws {StoreUnavailable} if it does not answer or cannot be read
   */
  run<N extends RepositoryName>(
    name: N,
    ...argument: RepositoryArgument<N> extends undefined ? [] : [RepositoryArgument<N>]
  ): Promise<RepositoryResult<N>>;
  /**
   * Several operations in one transaction, in order: all of them, or none; those after one that
   * decides, where it did something.
   * @throws as `run`
   */
  commit<const S extends readonly Step[]>(steps: S): Promise<StepResults<S>>;
  /**
   * When this resolves, every change that was committed before the call, by whichever instance, has
   * been handed to `onChange`: what a cache holds then is right. Calls at the same time share one
   * question to the database; without other instances there is none.
   * @throws {StoreUnavailable}
   */
  refresh(): Promise<void>;
  /**
   * The time that locks, reservations and one-time passwords go by, in milliseconds since epoch:
   * that of the database server, as each `refresh` learns it, so that instances whose clocks differ
   * decide alike; without a server, that of this machine.
   */
  now(): number;
  /**
   * For caches. The callback is called with rows that this or another instance changed; on a store
   * that is not shared, never.
   */
  onChange(listener: (change: Change) => void): void;
  /**
   * Resolves when the database thread takes its turn, whether the database itself answers or not.
   * @throws {Error} if the thread has ended
   */
  answer(): Promise<void>;
  close(): Promise<void>;
}
