import { availableParallelism } from 'node:os';
import { Piscina } from 'piscina';
import { moduleFile } from '../config/module-file.ts';
import { revivedError } from '../faults.ts';
import type { TaskCall, TaskOutcome } from './task-thread.ts';

const threadsMax = 4;
const idleMs = 60_000;
/** Far more than what the memory for bodies lets in. */
const waitingMax = 100_000;
/** A thread that needs more than this for its objects ends alone, and its task with it. Bodies lie outside of it. */
const heapMaxMebibytes = 256;
const taskThread = moduleFile('./task-thread', import.meta.url);

/** Threads for work that would hold up the event loop: reading and hashing big documents. They start when there is work. */
export class WorkThreads {
  readonly #pool = new Piscina<unknown, unknown>({
    minThreads: 0,
    maxThreads: Math.min(threadsMax, Math.max(1, availableParallelism() - 1)),
    idleTimeout: idleMs,
    maxQueue: waitingMax,
    resourceLimits: { maxOldGenerationSizeMb: heapMaxMebibytes },
  });

  /**
   * Runs an exported function of a module in a thread. `task` and `Result` are cloned (structured clone): memory that threads share is not copied.
   * @throws what the function throws: faults and refusals as they are, other errors without their class
   */
  async run<Result>(module: URL, name: string, task: object): Promise<Result> {
    const call: TaskCall = { module: module.href, name, task };
    const outcome = (await this.#pool.run(call, { filename: taskThread.href, name: 'runTask' })) as TaskOutcome;
    if ('failed' in outcome) throw revivedError(outcome.failed);
    // The module's own function answers it.
    return outcome.done as Result;
  }

  async stop(): Promise<void> {
    await this.#pool.destroy();
  }
}
