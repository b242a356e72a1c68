import type { Change } from './database.ts';
import type { RepositoryArgument, RepositoryName, RepositoryResult } from './repository-functions.ts';
import type { Step, StepResults } from './step.ts';

/** The state store: named operations, each in one transaction. */
export interface StateStore {
  /**
   * Whether other instances may change the store too: authorisations are then reserved in the
   * database, not in memory.
   */
  readonly isShared: boolean;
  /**
   * Runs an operation.
   * @throws {Refusal} STORE_FULL if the database cannot be written
   * @throws {StoreUnavailable} if it does not answer or cannot be read
   */
  run<N extends RepositoryName>(
    name: N,
    ...argument: RepositoryArgument<N> extends undefined ? [] : [RepositoryArgument<N>]
  ): Promise<RepositoryResult<N>>;
  /**
   * Runs several operations in one transaction, in order: all of them, or none. Steps after a
   * deciding step are run only if it changed something.
   * @throws as `run`
   */
  commit<const S extends readonly Step[]>(steps: S): Promise<StepResults<S>>;
  /**
   * Resolves when every change that any instance committed before the call has been passed to
   * `onChange`, so that caches are current. Concurrent calls share one query to the database;
   * without other instances there is none.
   * @throws {StoreUnavailable}
   */
  refresh(): Promise<void>;
  /**
   * Returns the time used for locks, reservations and one-time passwords, in milliseconds since
   * epoch: that of the database server, as read by each `refresh`, so that instances with different
   * clocks decide alike; without a server, that of this machine.
   */
  now(): number;
  /**
   * Registers a cache's listener for rows changed by this or another instance; on a store that is
   * not shared, it is never called.
   */
  onChange(listener: (change: Change) => void): void;
  /**
   * Resolves when the database thread responds, whether the database itself does or not.
   * @throws {Error} if the thread has ended
   */
  answer(): Promise<void>;
  close(): Promise<void>;
}
