import { availableParallelism } from 'node:os';
import { Piscina } from 'piscina';

/** Kinds of work, each with threads of its own: a hostile document that takes long to parse holds up no hashing. */
export type Lane = 'parsing' | 'hashing';

/** A function that a module exports for work threads. */
export interface ThreadFunction {
  readonly module: URL;
  readonly name: string;
  readonly lane: Lane;
}

/** Limits of a lane. A task has `deadlineMs` from the call to its answer, waiting included. */
const lanes = {
  parsing: { threadsMax: 2, deadlineMs: 120_000 },
  // Files of gigabytes on slow disks.
  hashing: { threadsMax: 4, deadlineMs: 1_800_000 },
} as const satisfies Record<Lane, { readonly threadsMax: number; readonly deadlineMs: number }>;

const idleMs = 60_000;
/** Far more tasks than the memory for bodies allows. */
const waitingMax = 100_000;
/** A thread whose objects need more than this ends alone, and its task with it. Bodies lie outside of it. */
const heapMaxMebibytes = 256;

/** A task took longer than its lane allows; its thread was ended. */
export class TaskTimeout extends Error {
  readonly lane: Lane;

  constructor(lane: Lane, deadlineMs: number, cause: unknown) {
    super(`a task of the lane ${lane} took longer than ${deadlineMs / 1000} s`, { cause });
    this.name = 'TaskTimeout';
    this.lane = lane;
  }
}

/** Threads for work that would block the event loop. They start when there is work. */
export class WorkThreads {
  readonly #pools: Readonly<Record<Lane, Piscina<unknown, unknown>>> = { parsing: poolOf('parsing'), hashing: poolOf('hashing') };
  readonly #deadlinesMs: Readonly<Record<Lane, number>>;

  constructor(deadlinesMs: Partial<Record<Lane, number>> = {}) {
    this.#deadlinesMs = { parsing: lanes.parsing.deadlineMs, hashing: lanes.hashing.deadlineMs, ...deadlinesMs };
  }

  /**
   * Runs the function in a thread. `task` and `Result` are cloned (structured clone); memory that threads share is not copied.
   * @throws {Error} what the function throws
   * @throws {TaskTimeout}
   */
  async run<Result>({ module, name, lane }: ThreadFunction, task: object): Promise<Result> {
    const deadlineMs = this.#deadlinesMs[lane];
    const signal = AbortSignal.timeout(deadlineMs);
    try {
      // The module's own function answers it.
      return (await this.#pools[lane].run(task, { filename: module.href, name, signal })) as Result;
    } catch (error) {
      if (signal.aborted && error instanceof Error && error.name === 'AbortError') throw new TaskTimeout(lane, deadlineMs, error);
      throw error;
    }
  }

  async stop(): Promise<void> {
    await Promise.all(Object.values(this.#pools).map(async (pool) => pool.destroy()));
  }
}

function poolOf(lane: Lane): Piscina<unknown, unknown> {
  return new Piscina<unknown, unknown>({
    minThreads: 0,
    maxThreads: Math.min(lanes[lane].threadsMax, Math.max(1, availableParallelism() - 1)),
    idleTimeout: idleMs,
    maxQueue: waitingMax,
    resourceLimits: { maxOldGenerationSizeMb: heapMaxMebibytes },
  });
}
