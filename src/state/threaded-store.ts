import { Worker } from 'node:worker_threads';
import { moduleFile } from '../config/module-file.ts';
import type { StateConfig } from '../config/state-config.ts';
import type { Logger } from '../telemetry/log.ts';
import { timeBy, type ClockReading } from './clock.ts';
import type { FromDatabase, Opening, ToDatabase } from './database-thread.ts';
import { errorOf, type Change } from './database.ts';
import type { RepositoryArgument, RepositoryName, RepositoryResult } from './repository-functions.ts';
import type { StateStore } from './state-store.ts';
import { step, tellCommitted, type Step, type StepResults } from './step.ts';
import { StoreNotOpened, StoreUnavailable } from './store-unavailable.ts';

interface Pending {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/**
 * Told of each transaction: how it ended, and the milliseconds until then, with those in the queue
 * of the database thread.
 */
export type TransactionEnded = (outcome: 'done' | 'refused' | 'unavailable', ms: number) => void;

/** Options of a store. */
interface StoreOptions {
  readonly log?: Logger;
  readonly readOnly?: boolean;
  readonly ended?: TransactionEnded | undefined;
}

/** The main thread's view of the store on the database thread. */
export class ThreadedStore implements StateStore {
  readonly isShared: boolean;
  readonly #worker: Worker;
  readonly #tellEnd: TransactionEnded | undefined;
  readonly #pending = new Map<number, Pending>();
  readonly #listeners: ((change: Change) => void)[] = [];
  #clock: ClockReading | undefined;
  #nextId = 0;
  #ended: Error | undefined;
  #closing: Promise<void> | undefined;
  /**
   * The query for changes in progress, and the one to follow it: a query sees what was committed
   * when it began.
   */
  #looking: Promise<void> | undefined;
  #nextLook: Promise<void> | undefined;

  private constructor(
    worker: Worker,
    isShared: boolean,
    { clock, ended }: { readonly clock: ClockReading | undefined; readonly ended: TransactionEnded | undefined },
  ) {
    this.#worker = worker;
    this.#tellEnd = ended;
    this.#clock = clock;
    this.isShared = isShared;
    worker.on('message', (message: FromDatabase) => {
      this.#take(message);
    });
    worker.on('error', (error: Error) => {
      this.#end(error);
    });
    worker.on('exit', () => {
      this.#end(new Error('the database thread ended'));
    });
  }

  static async open(config: StateConfig, { log, readOnly = false, ended }: StoreOptions = {}): Promise<ThreadedStore> {
    const opening: Opening = { config, readOnly };
    const worker = new Worker(moduleFile('./database-thread', import.meta.url), { workerData: opening });
    const clock = await new Promise<ClockReading | undefined>((resolve, reject) => {
      worker.once('error', reject);
      worker.on('message', (message: FromDatabase) => {
        if (message.kind === 'log') log?.warn(message.message);
        else if (message.kind === 'ready') resolve(message.clock);
        else if (message.kind === 'failed') reject(new StoreNotOpened(`${nameOf(config)}: ${message.reason}`));
      });
    });
    return new ThreadedStore(worker, config.kind === 'postgresql', { clock, ended });
  }

  async run<N extends RepositoryName>(
    name: N,
    ...argument: RepositoryArgument<N> extends undefined ? [] : [RepositoryArgument<N>]
  ): Promise<RepositoryResult<N>> {
    const [result] = await this.commit([step(name, ...argument)]);
    return result;
  }

  async commit<const S extends readonly Step[]>(steps: S): Promise<StepResults<S>> {
    const values = await this.#timed(this.#ask((id) => ({ kind: 'work', id, steps })));
    // Steps after a deciding step that changed nothing were not run.
    tellCommitted(Array.isArray(values) ? steps.slice(0, values.length) : steps);
    // The thread ran exactly the functions that the steps name.
    return values as StepResults<S>;
  }

  async refresh(): Promise<void> {
    if (!this.isShared) return;
    if (this.#looking === undefined) {
      this.#looking = this.#look();
      return this.#looking;
    }
    this.#nextLook ??= this.#lookAfter(this.#looking);
    return this.#nextLook;
  }

  now(): number {
    return timeBy(this.#clock);
  }

  onChange(listener: (change: Change) => void): void {
    this.#listeners.push(listener);
  }

  async answer(): Promise<void> {
    await this.#ask((id) => ({ kind: 'ping', id }));
  }

  async close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #timed(transaction: Promise<unknown>): Promise<unknown> {
    if (this.#tellEnd === undefined) return transaction;
    const started = performance.now();
    try {
      const values = await transaction;
      this.#tellEnd('done', performance.now() - started);
      return values;
    } catch (error) {
      this.#tellEnd(error instanceof StoreUnavailable ? 'unavailable' : 'refused', performance.now() - started);
      throw error;
    }
  }

  async #close(): Promise<void> {
    const exited = new Promise<void>((resolve) => {
      this.#worker.once('exit', () => {
        resolve();
      });
    });
    this.#ended ??= new StoreUnavailable('it is closed');
    this.#worker.postMessage({ kind: 'close' } satisfies ToDatabase);
    await exited;
  }

  async #look(): Promise<void> {
    try {
      await this.#ask((id) => ({ kind: 'changes', id }));
    } finally {
      this.#looking = undefined;
    }
  }

  async #lookAfter(current: Promise<void>): Promise<void> {
    await current.catch(() => undefined);
    this.#nextLook = undefined;
    this.#looking = this.#look();
    return this.#looking;
  }

  async #ask(message: (id: number) => ToDatabase): Promise<unknown> {
    if (this.#ended !== undefined) throw this.#ended;
    this.#nextId += 1;
    const id = this.#nextId;
    return new Promise<unknown>((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      this.#worker.postMessage(message(id));
    });
  }

  #take(message: FromDatabase): void {
    if (message.kind === 'outcomes') {
      for (const outcome of message.outcomes) {
        const pending = this.#settled(outcome.id);
        if ('values' in outcome) pending?.resolve(outcome.values);
        else pending?.reject(errorOf(outcome.failure));
      }
    } else if (message.kind === 'pong') {
      this.#settled(message.id)?.resolve(undefined);
    } else if (message.kind === 'changes') {
      this.#clock = message.clock ?? this.#clock;
      for (const change of message.changes) for (const listener of this.#listeners) listener(change);
      this.#settled(message.id)?.resolve(undefined);
    } else if (message.kind === 'noChanges') {
      this.#settled(message.id)?.reject(errorOf(message.failure));
    }
  }

  #settled(id: number): Pending | undefined {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    return pending;
  }

  #end(error: Error): void {
    this.#ended ??= error;
    for (const pending of this.#pending.values()) pending.reject(this.#ended);
    this.#pending.clear();
  }
}

/** Names a state store for the operator. */
export function nameOf(config: StateConfig): string {
  return config.kind === 'sqlite' ? config.path : `PostgreSQL at ${config.host}, database ${config.database}`;
}

/**
 * Opens the store on a thread of its own, so that the event loop never waits for a disk or a
 * server.
 * @throws {Error} if it cannot be opened or its schema is newer than this program
 */
export async function openStateStore(config: StateConfig, log: Logger, ended?: TransactionEnded): Promise<StateStore> {
  return ThreadedStore.open(config, { log, ended });
}

/** Opens the embedded store. */
export async function openSqliteStore(path: string): Promise<StateStore> {
  return ThreadedStore.open({ kind: 'sqlite', path });
}

/**
 * Opens the store read-only while the daemon uses it. Every change is refused.
 * @throws {Error} if it cannot be opened
 */
export async function readStateStore(config: StateConfig): Promise<StateStore> {
  return ThreadedStore.open(config, { readOnly: true });
}
