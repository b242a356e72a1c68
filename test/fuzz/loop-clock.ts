import type { ThreadFunction, WorkThreads } from '../../src/threads/work-threads.ts';

/** Processor time of one piece of work, in milliseconds. */
export interface Spent {
  /** On the event loop. */
  readonly loop: number;
  /** In work threads. */
  readonly threads: number;
}

/**
 * Runs work whose tasks for threads run here, one after the other, and tells how much processor time
 * each side took. Other processes on the machine do not change these figures.
 */
export class LoopClock {
  #threadMicroseconds = 0;

  /** Stands in for the work threads: an error ends the work as it would there. */
  readonly threads: Pick<WorkThreads, 'run'> = {
    run: async <Result>({ module, name }: ThreadFunction, task: object): Promise<Result> => {
      const exported = (await import(module.href)) as Readonly<Record<string, (task: object) => Result>>;
      const run = exported[name];
      if (run === undefined) throw new Error(`no function ${name}`);
      const copy = structuredClone(task);
      const before = microseconds();
      try {
        return await run(copy);
      } finally {
        this.#threadMicroseconds += microseconds() - before;
      }
    },
  };

  /** Runs the work to its end and returns its result with the time it took. */
  async measured<Result>(work: () => Promise<Result>): Promise<{ readonly result: Result; readonly spentMs: Spent }> {
    this.#threadMicroseconds = 0;
    const before = microseconds();
    const result = await work();
    const all = microseconds() - before;
    const threads = this.#threadMicroseconds / 1000;
    return { result, spentMs: { loop: all / 1000 - threads, threads } };
  }
}

function microseconds(): number {
  const { user, system } = process.threadCpuUsage();
  return user + system;
}
