import { FairQueue } from '../../service/fair-queue.ts';
import type { Sender } from '../../telemetry/current-request.ts';
import { EachTurn } from './each-turn.ts';

/** Octets of bodies of which one turn of the event loop may begin the work: it takes some 20 ns for each. */
const turnMaxBytes = 64 * 1024;
/** What a request costs beside its body, in octets. */
const requestCostBytes = 4096;

/**
 * Shares the turns of the event loop among requests whose bodies have arrived. Parsing and checking
 * them takes up to some milliseconds each; where many come together, as on connections that had been
 * left unread, requests of others would wait for all of them.
 */
export class WorkTurns {
  readonly #waiting = new FairQueue<{ readonly begin: () => void; readonly cost: number }>();
  #begunBytes = 0;
  readonly #turns = new EachTurn(() => {
    this.#begin();
  });

  /** Returns undefined if the work on a body of so many octets may begin at once; else, when it may. */
  turn(sender: Sender | undefined, bytes: number): Promise<void> | undefined {
    const cost = bytes + requestCostBytes;
    this.#turns.schedule();
    if (this.#waiting.length === 0 && this.#hasRoom(cost)) {
      this.#begunBytes += cost;
      return undefined;
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push({ begin: resolve, cost }, sender, cost);
    return promise;
  }

  /** The first in a turn may be of any length. */
  #hasRoom(cost: number): boolean {
    return this.#begunBytes === 0 || this.#begunBytes + cost <= turnMaxBytes;
  }

  #begin(): void {
    this.#begunBytes = 0;
    while (this.#begunBytes < turnMaxBytes) {
      const next = this.#waiting.take();
      if (next === undefined) return;
      this.#begunBytes += next.cost;
      next.begin();
      this.#turns.schedule();
    }
  }
}

/** Those of this process, which has one event loop. */
export const workTurns = new WorkTurns();
