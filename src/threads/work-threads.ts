import { availableParallelism } from 'node:os';
import { revivedError } from '../faults.ts';
import { currentRequest, currentSender } from '../telemetry/current-request.ts';
import { LaneThreads, type LaneLimits } from './lane-threads.ts';

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
  /**
   * What becomes of the task when the client that sent the request closes its connection. `stops`:
   * it is dropped or ended, which leaves nothing half-done since it only reads. Default:
   * `finishes`.
   */
  readonly whenClientIsGone?: 'finishes' | 'stops';
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
} as const satisfies Record<Lane, LaneLimits>;

export const laneNames: readonly Lane[] = ['quick', 'parsing', 'hashing'];

/** Receives how long each task waited for its thread, in milliseconds. */
export type WaitObserver = (lane: Lane, ms: number) => void;

/** Threads for work that would block the event loop, started on demand. */
export class WorkThreads {
  readonly #lanes: Readonly<Record<Lane, LaneThreads>>;

  /** `deadlinesMs`: replaces the usual deadlines. */
  constructor({ deadlinesMs = {}, waited = () => undefined }: { deadlinesMs?: Partial<Record<Lane, number>>; waited?: WaitObserver } = {}) {
    const cores = Math.max(1, availableParallelism() - 1);
    const threadsOf = (lane: Lane): LaneThreads => {
      const { threadsMax, deadlineMs } = lanes[lane];
      const limits = { threadsMax: Math.min(threadsMax, cores), deadlineMs: deadlinesMs[lane] ?? deadlineMs };
      return new LaneThreads(limits, (ms) => {
        waited(lane, ms);
      });
    };
    this.#lanes = { quick: threadsOf('quick'), parsing: threadsOf('parsing'), hashing: threadsOf('hashing') };
  }

  /** Tasks that wait for a thread of the lane. */
  waiting(lane: Lane): number {
    return this.#lanes[lane].waiting;
  }

  /**
   * Runs the function in a thread, for the client whose request causes the present work. `task` and
   * `Result` are copied (structured clone); shared memory is not.
   * @throws the errors of the function: faults and refusals unchanged, other errors without their
   *   class
   * @throws {Fault} TASK_TIMEOUT if it runs longer than the lane allows; its thread is ended
   * @throws {Fault} CLIENT_GONE if it stops when its client is gone
   */
  async run<Result>(called: ThreadFunction, task: object): Promise<Result> {
    const { module, name, lane, deadlineMs, whenClientIsGone = 'finishes' } = called;
    const gone = whenClientIsGone === 'stops' ? currentRequest()?.gone : undefined;
    const outcome = await this.#lanes[lane].run({ module: module.href, name, task }, { sender: currentSender(), deadlineMs, gone });
    if ('failed' in outcome) throw revivedError(outcome.failed);
    // The result comes from the module's own function.
    return outcome.done as Result;
  }

  async stop(): Promise<void> {
    await Promise.all(Object.values(this.#lanes).map(async (lane) => lane.stop()));
  }
}
