import { errorOf, type Outcome } from '../../src/state/database.ts';
import type { RepositoryArgument, RepositoryName, RepositoryResult } from '../../src/state/repository-functions.ts';
import { SqliteDatabase } from '../../src/state/sqlite/sqlite-database.ts';
import type { StateStore } from '../../src/state/state-store.ts';
import { step, tellCommitted, type Step, type StepResults } from '../../src/state/step.ts';

/** The embedded state store without its thread, whose start costs as much as a thousand commits: for tests that open many. */
export class StoreHere implements StateStore {
  readonly isShared = false;
  readonly #database: SqliteDatabase;
  #last: Promise<readonly Outcome[]> = Promise.resolve([]);

  private constructor(database: SqliteDatabase) {
    this.#database = database;
  }

  static async open(path: string): Promise<StoreHere> {
    return new StoreHere(await SqliteDatabase.open(path));
  }

  async run<N extends RepositoryName>(
    name: N,
    ...argument: RepositoryArgument<N> extends undefined ? [] : [RepositoryArgument<N>]
  ): Promise<RepositoryResult<N>> {
    const [result] = await this.commit([step(name, ...argument)]);
    return result;
  }

  async commit<const S extends readonly Step[]>(steps: S): Promise<StepResults<S>> {
    this.#last = this.#last.then(async () => this.#database.run([{ id: 0, steps }]));
    const [outcome] = await this.#last;
    if (outcome === undefined) throw new Error('each work has its outcome');
    if ('failure' in outcome) throw errorOf(outcome.failure);
    tellCommitted(steps.slice(0, outcome.values.length));
    // The database ran exactly the functions that the steps name.
    return outcome.values as StepResults<S>;
  }

  async refresh(): Promise<void> {
    return Promise.resolve();
  }

  now(): number {
    return Date.now();
  }

  onChange(): void {
    // Nobody else changes it.
  }

  async answer(): Promise<void> {
    return Promise.resolve();
  }

  async close(): Promise<void> {
    await this.#last;
    await this.#database.close();
  }
}
