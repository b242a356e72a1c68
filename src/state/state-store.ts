import { Worker } from 'node:worker_threads';
import { moduleFile } from '../config/module-file.ts';
import { Refusal } from '../result-codes.ts';
import type { RepositoryArgument, RepositoryName, RepositoryResult } from './repositories/all.ts';
import type { DatabaseAnswer, DatabaseRequest, DatabaseStart } from './sqlite/database-thread.ts';
import { step, type Step, type StepResults } from './step.ts';

/** The state store as the rooms above see it: named operations, each of them one transaction. */
export interface StateStore {
  /** @throws {Refusal} STORE_FULL where the database cannot be written. */
  run<N extends RepositoryName>(
    name: N,
    ...argument: RepositoryArgument<N> extends undefined ? [] : [RepositoryArgument<N>]
  ): Promise<RepositoryResult<N>>;
  /** Several operations in one transaction, in order: all of them, or none. @throws {Refusal} as `run` */
  commit<const S extends readonly Step[]>(steps: S): Promise<StepResults<S>>;
  close(): Promise<void>;
}

interface Pending {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** Opens the embedded store: SQLite on a thread of its own, so that the event loop never waits for a disk. */
export async function openSqliteStore(path: string): Promise<StateStore> {
  const worker = new Worker(moduleFile('./sqlite/database-thread', import.meta.url), { workerData: { path } });
  await new Promise<void>((resolve, reject) => {
    worker.once('error', reject);
    worker.once('message', (start: DatabaseStart) => {
      if (start.kind === 'ready') resolve();
      else reject(new Error(`${path}: ${start.message}`));
    });
  });
  return new SqliteStore(worker);
}

class SqliteStore implements StateStore {
  readonly #worker: Worker;
  readonly #pending = new Map<number, Pending>();
  #nextId = 0;
  #ended: Error | undefined;

  constructor(worker: Worker) {
    this.#worker = worker;
    worker.on('message', (answer: DatabaseAnswer) => {
      const pending = this.#pending.get(answer.id);
      this.#pending.delete(answer.id);
      if (pending === undefined) return;
      if (!('error' in answer)) pending.resolve(answer.values);
      else pending.reject(answer.storeFull ? new Refusal('STORE_FULL', { cause: answer.error }) : new Error(answer.error));
    });
    worker.on('error', (error: Error) => {
      this.#end(error);
    });
    worker.on('exit', () => {
      this.#end(new Error('the database thread ended'));
    });
  }

  async run<N extends RepositoryName>(
    name: N,
    ...argument: RepositoryArgument<N> extends undefined ? [] : [RepositoryArgument<N>]
  ): Promise<RepositoryResult<N>> {
    const [result] = await this.commit([step(name, ...argument)]);
    return result;
  }

  async commit<const S extends readonly Step[]>(steps: S): Promise<StepResults<S>> {
    if (this.#ended !== undefined) throw this.#ended;
    this.#nextId += 1;
    const id = this.#nextId;
    const values = await new Promise<unknown>((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      this.#worker.postMessage({ id, steps } satisfies DatabaseRequest);
    });
    // The thread ran exactly the functions that the steps name.
    return values as StepResults<S>;
  }

  async close(): Promise<void> {
    const exited = new Promise<void>((resolve) => {
      this.#worker.once('exit', () => {
        resolve();
      });
    });
    this.#worker.postMessage('close');
    await exited;
  }

  #end(error: Error): void {
    this.#ended ??= error;
    for (const pending of this.#pending.values()) pending.reject(this.#ended);
    this.#pending.clear();
  }
}
