import { Piscina } from 'piscina';
import { moduleFile } from '../config/module-file.ts';
import { Fault } from '../faults.ts';
import { FairQueue } from '../service/fair-queue.ts';
import type { Sender } from '../telemetry/current-request.ts';
import type { PrepareCall, TaskCall, TaskOutcome } from './task-thread.ts';

const idleMs = 60_000;
/**
 * Heap limit of a thread; a thread that exceeds it is ended with its task. Request bodies are
 * outside the heap.
 */
const heapMaxMebibytes = 256;
const taskThread = moduleFile('./task-thread', import.meta.url);

export interface LaneLimits {
  readonly threadsMax: number;
  readonly deadlineMs: number;
}

/** For whom a task runs, and until when. */
export interface TaskTerms {
  readonly sender: Sender | undefined;
  /** Deadline shorter than that of the lane. */
  readonly deadlineMs?: number | undefined;
  /** Aborted once nobody waits for the outcome any more; absent: the task runs to its end. */
  readonly gone?: AbortSignal | undefined;
}

interface Waiting {
  readonly sender: Sender | undefined;
  readonly queuedAtMs: number;
  begin(running: Running): void;
}

interface Running {
  readonly sender: Sender | undefined;
  /** Until when its time is charged to the sender. */
  chargedUntilMs: number;
}

/**
 * The threads of one lane, shared fairly by the time that each tenant, and within it each client,
 * has used them. A tenant can hold `threadsMax` of them; one more thread is for a tenant that holds
 * none, so that no tenant ever keeps another one out. A task goes to the pool when a thread is free
 * for it, so that its deadline starts with its run.
 */
export class LaneThreads {
  readonly #limits: LaneLimits;
  readonly #pool: Piscina<unknown, unknown>;
  readonly #waiting = new FairQueue<Waiting>();
  readonly #running = new Set<Running>();
  /** Modules of the tasks so far. */
  readonly #modules = new Set<string>();
  #isPreparing = false;
  #isStopped = false;
  readonly #waited: (ms: number) => void;

  /** `waited` receives how long each task waited for its thread, in milliseconds. */
  constructor(limits: LaneLimits, waited: (ms: number) => void) {
    this.#limits = limits;
    this.#waited = waited;
    this.#pool = new Piscina<unknown, unknown>({
      minThreads: 0,
      maxThreads: limits.threadsMax + 1,
      idleTimeout: idleMs,
      resourceLimits: { maxOldGenerationSizeMb: heapMaxMebibytes },
    });
  }

  /** Tasks that wait for a thread. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** @throws {Fault} TASK_TIMEOUT; CLIENT_GONE */
  async run(call: TaskCall, { sender, deadlineMs = Infinity, gone }: TaskTerms): Promise<TaskOutcome> {
    const running = await this.#turn(sender, gone);
    const late = AbortSignal.timeout(Math.min(deadlineMs, this.#limits.deadlineMs));
    const signal = gone === undefined ? late : AbortSignal.any([late, gone]);
    try {
      const outcome = this.#pool.run(call, { filename: taskThread.href, name: 'runTask', signal });
      this.#prepareSpare();
      return (await outcome) as TaskOutcome;
    } catch (error) {
      if (!signal.aborted || !(error instanceof Error) || error.name !== 'AbortError') throw error;
      throw new Fault(gone?.aborted === true ? 'CLIENT_GONE' : 'TASK_TIMEOUT', { cause: error });
    } finally {
      this.#modules.add(call.module);
      this.#charge(performance.now());
      this.#running.delete(running);
      this.#admit();
    }
  }

  /**
   * Starts a thread while all others are busy, before it is needed: it takes a third of a second to
   * load what tasks use, which a tenant that holds none would wait for.
   */
  #prepareSpare(): void {
    const { threads, options } = this.#pool;
    const isOneIdle = this.#running.size < threads.length;
    if (this.#modules.size === 0 || this.#isPreparing || this.#isStopped || isOneIdle || threads.length === options.maxThreads) return;
    this.#isPreparing = true;
    const call: PrepareCall = { modules: [...this.#modules] };
    this.#pool
      .run(call, { filename: taskThread.href, name: 'prepare' })
      // A module that cannot be loaded fails its tasks, too.
      .catch(() => undefined)
      .finally(() => {
        this.#isPreparing = false;
      });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#pool.destroy();
  }

  /** Resolves when a thread is free for the sender. @throws {Fault} CLIENT_GONE */
  async #turn(sender: Sender | undefined, gone: AbortSignal | undefined): Promise<Running> {
    if (gone?.aborted === true) throw new Fault('CLIENT_GONE');
    const { promise, resolve, reject } = Promise.withResolvers<Running>();
    const waiting: Waiting = { sender, queuedAtMs: performance.now(), begin: resolve };
    const leave = (): void => {
      // A task that no longer waits is ended by its own signal.
      if (this.#waiting.takeWhere((one) => one === waiting).length > 0) reject(new Fault('CLIENT_GONE'));
    };
    this.#waiting.push(waiting, sender);
    gone?.addEventListener('abort', leave, { once: true });
    this.#admit();
    try {
      return await promise;
    } finally {
      gone?.removeEventListener('abort', leave);
    }
  }

  #admit(): void {
    const nowMs = performance.now();
    this.#charge(nowMs);
    for (;;) {
      const next = this.#waiting.take((tenant) => this.#hasThread(tenant));
      if (next === undefined) return;
      const running: Running = { sender: next.sender, chargedUntilMs: nowMs };
      this.#running.add(running);
      this.#waited(nowMs - next.queuedAtMs);
      next.begin(running);
    }
  }

  #hasThread(tenant: string | undefined): boolean {
    const { threadsMax } = this.#limits;
    const { size } = this.#running;
    return size < threadsMax || (size === threadsMax && ![...this.#running].some(({ sender }) => sender?.tenant === tenant));
  }

  /** Charges the running tasks too, since one may last for minutes. */
  #charge(nowMs: number): void {
    for (const running of this.#running) {
      this.#waiting.charge(running.sender, nowMs - running.chargedUntilMs);
      running.chargedUntilMs = nowMs;
    }
  }
}
