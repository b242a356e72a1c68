import { availableParallelism } from 'node:os';
import { Piscina } from 'piscina';
import { moduleFile } from '../config/module-file.ts';
import { Fault, revivedError } from '../faults.ts';
import type { TaskCall, TaskOutcome } from './task-thread.ts';

/**
 * Kinds of work, each with its own threads: a hostile document that is slow to parse does not delay
 * hashing.
 */
export type Lane = 'parsing' | 'hashing';

/** A function that a module exports for work threads. */
export interface ThreadFunction {
  readonly module: URL;
  readonly name: string;
  readonly lane: Lane;
}

/** Limits of each lane. `deadlineMs` runs from the call to the result, waiting included. */
const lanes = {
  parsing: { threadsMax: 2, deadlineMs: 120_000 },
  // Files of gigabytes on slow disks.
  hashing: { threadsMax: 4, deadlineMs: 1_800_000 },
} as const satisfies Record<Lane, { readonly threadsMax: number; readonly deadlineMs: number }>;

const idleMs = 60_000;
/** Far more tasks than fit in the memory for bodies. */
const waitingMax = 100_000;
/**
 * Heap limit of a thread; a thread that exceeds it is ended with its task. Request bodies are
 * outside the heap.
 */
const heapMaxMebibytes = 256;
const taskThread = moduleFile('./task-thread', import.meta.url);

/** Threads for work that would block the event loop, started on demand. */
export class WorkThreads {
  readonly #pools: Readonly<Record<Lane, Piscina<unknown, unknown>>> = { parsing: poolOf('parsing'), hashing: poolOf('hashing') };
  readonly #deadlinesMs: Readonly<Record<Lane, number>>;

  constructor(deadlinesMs: Partial<Record<Lane, number>> = {}) {
    this.#deadlinesMs = { parsing: lanes.parsing.deadlineMs, hashing: lanes.hashing.deadlineMs, ...deadlinesMs };
  }

  /**
   * Runs the function in a thread. `task` and `Result` are copied (structured clone); shared memory
   * is not.
   * @throws the errors of the function: faults and refusals as they are, other errors without their
   *   class
   * @throws {Fault} TASK_TIMEOUT if it takes longer than the lane allows; its thread is ended
   */
  async run<Result>({ module, name, lane }: ThreadFunction, task: object): Promise<Result> {
    const call: TaskCall = { module: module.href, name, task };
    const signal = AbortSignal.timeout(this.#deadlinesMs[lane]);
    const outcome = await this.#outcome(lane, call, signal);
    if ('failed' in outcome) throw revivedError(outcome.failed);
    // The result comes from the module's own function.
    return outcome.done as Result;
  }

  async stop(): Promise<void> {
    await Promise.all(Object.values(this.#pools).map(async (pool) => pool.destroy()));
  }

  async #outcome(lane: Lane, call: TaskCall, signal: AbortSignal): Promise<TaskOutcome> {
    try {
      return (await this.#pools[lane].run(call, { filename: taskThread.href, name: 'runTask', signal })) as TaskOutcome;
    } catch (error) {
      if (signal.aborted && error instanceof Error && error.name === 'AbortError') throw new Fault('TASK_TIMEOUT', { cause: error });
      throw error;
    }
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
