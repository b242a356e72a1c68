import { availableParallelism } from 'node:os';
import { Piscina } from 'piscina';

const threadsMax = 4;
const idleMs = 60_000;
/** Far more than what the memory for bodies lets in. */
const waitingMax = 100_000;
/** A thread that needs more than this for its objects ends alone, and its task with it. Bodies lie outside of it. */
const heapMaxMebibytes = 256;

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
   * @throws {Error} what the function throws
   */
  async run<Result>(module: URL, name: string, task: object): Promise<Result> {
    // The module's own function answers it.
    return (await this.#pool.run(task, { filename: module.href, name })) as Result;
  }

  async stop(): Promise<void> {
    await this.#pool.destroy();
  }
}
