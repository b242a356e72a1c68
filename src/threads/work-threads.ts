import { availableParallelism } from 'node:os';
import { Piscina } from 'piscina';
import { moduleFile } from '../config/module-file.ts';
import { Fault, revivedError } from '../faults.ts';
import type { TaskCall, TaskOutcome } from './task-thread.ts';

/**
 * Kinds of work, each with its own threads: documents that are slow to parse delay neither hashing
 * nor the JSON of requests. `quick`: work whose duration is bounded by its size.
 */
export type Lane = 'quick' | 'parsing' | 'hashing';

/** A function that a module exports for work threads. */
export interface ThreadFunction {
  readonly module: URL;
  readonly name: string;
  readonly lane: Lane;
  /** Deadline shorter than that of the lane. */
  readonly deadlineMs?: number;
}

/**
 * Limits of each lane. `deadlineMs` is the longest run of a task; the time that it waits for a
 * thread does not count.
 */
const lanes = {
  quick: { threadsMax: 4, deadlineMs: 120_000 },
  parsing: { threadsMax: 2, deadlineMs: 120_000 },
  // Files of gigabytes on slow disks.
  hashing: { threadsMax: 4, deadlineMs: 1_800_000 },
} as const satisfies Record<Lane, { readonly threadsMax: number; readonly deadlineMs: number }>;

const idleMs = 60_000;
/**
 * Heap limit of a thread; a thread that exceeds it is ended with its task. Request bodies are
 * outside the heap.
 */
const heapMaxMebibytes = 256;
const taskThread = moduleFile('./task-thread', import.meta.url);

/** Threads for work that would block the event loop, started on demand. */
export class WorkThreads {
  readonly #lanes: Readonly<Record<Lane, LaneThreads>>;

  /** `deadlinesMs`: replaces the usual deadlines. */
  constructor(deadlinesMs: Partial<Record<Lane, number>> = {}) {
    const threadsOf = (lane: Lane): LaneThreads => new LaneThreads(lanes[lane].threadsMax, deadlinesMs[lane] ?? lanes[lane].deadlineMs);
    this.#lanes = { quick: threadsOf('quick'), parsing: threadsOf('parsing'), hashing: threadsOf('hashing') };
  }

  /**
   * Runs the function in a thread. `task` and `Result` are copied (structured clone); shared memory
   * is not.
   * @throws the errors of the function: faults and refusals unchanged, other errors without their
   *   class
   * @throws {Fault} TASK_TIMEOUT if it runs longer than the lane allows; its thread is ended
   */
  async run<Result>({ module, name, lane, deadlineMs }: ThreadFunction, task: object): Promise<Result> {
    const outcome = await this.#lanes[lane].run({ module: module.href, name, task }, deadlineMs);
    if ('failed' in outcome) throw revivedError(outcome.failed);
    // The result comes from the module's own function.
    return outcome.done as Result;
  }

  async stop(): Promise<void> {
    await Promise.all(Object.values(this.#lanes).map(async (lane) => lane.stop()));
  }
}

/**
 * The threads of one lane. A task goes to the pool when a thread is free, so that its deadline
 * starts with its run.
 */
class LaneThreads {
  readonly #pool: Piscina<unknown, unknown>;
  readonly #deadlineMs: number;
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(threadsMax: number, deadlineMs: number) {
    this.#deadlineMs = deadlineMs;
    this.#free = Math.min(threadsMax, Math.max(1, availableParallelism() - 1));
    this.#pool = new Piscina<unknown, unknown>({
      minThreads: 0,
      maxThreads: this.#free,
      idleTimeout: idleMs,
      resourceLimits: { maxOldGenerationSizeMb: heapMaxMebibytes },
    });
  }

  async run(call: TaskCall, deadlineMs = this.#deadlineMs): Promise<TaskOutcome> {
    await this.#turn();
    const signal = AbortSignal.timeout(Math.min(deadlineMs, this.#deadlineMs));
    try {
      return (await this.#pool.run(call, { filename: taskThread.href, name: 'runTask', signal })) as TaskOutcome;
    } catch (error) {
      if (signal.aborted && error instanceof Error && error.name === 'AbortError') throw new Fault('TASK_TIMEOUT', { cause: error });
      throw error;
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }

  async stop(): Promise<void> {
    await this.#pool.destroy();
  }

  /** Resolves when a thread is free for the caller, in the order of the calls. */
  async #turn(): Promise<void> {
    if (this.#free > 0) {
      this.#free -= 1;
      return;
    }
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}
