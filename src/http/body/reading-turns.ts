import { FairQueue } from '../../service/fair-queue.ts';
import type { Sender } from '../../telemetry/current-request.ts';
import { EachTurn } from './each-turn.ts';

/** Octets of bodies that one turn of the event loop may read: decrypting and storing them takes some milliseconds. */
const turnMaxBytes = 256 * 1024;
/**
 * Octets that a body of which reading goes on is expected to bring in a turn at least: what Node
 * reads from a connection at once, and what it has buffered before.
 */
const expectedBytes = 128 * 1024;

/**
 * What handling one piece costs beside its octets, in octets: with chunks of an octet each, it is
 * nearly all of the time and of the memory that a body takes.
 */
export const pieceCostBytes = 512;

/** Returns what a piece of a body costs to read and to keep, in octets. */
export function pieceCost({ length }: Uint8Array): number {
  return length + pieceCostBytes;
}

/**
 * Shares the turns of the event loop among long bodies. From a fast connection, Node reads up to 2
 * MiB before it looks at the next one, so that a handful of them would hold everybody else up.
 */
export class ReadingTurns {
  readonly #waiting = new FairQueue<{ readonly goOn: () => void; readonly expected: number }>();
  #readBytes = 0;
  readonly #turns = new EachTurn(() => {
    this.#begin();
  });

  /** Notes what pieces of a body cost, in octets; returns whether no more are to be read in this turn. */
  took(bytes: number): boolean {
    this.#readBytes += bytes;
    this.#turns.schedule();
    return this.#readBytes > turnMaxBytes;
  }

  /**
   * Calls `goOn` in the turn in which reading the sender's body may go on. `lastCost`: what it cost in
   * its last turn, in octets.
   */
  wait(sender: Sender | undefined, lastCost: number, goOn: () => void): void {
    this.#waiting.push({ goOn, expected: Math.max(expectedBytes, lastCost) }, sender);
    this.#turns.schedule();
  }

  #begin(): void {
    this.#readBytes = 0;
    for (let bytes = 0; bytes + expectedBytes <= turnMaxBytes;) {
      const next = this.#waiting.take();
      if (next === undefined) return;
      bytes += next.expected;
      next.goOn();
    }
    if (this.#waiting.length > 0) this.#turns.schedule();
  }
}

/** Those of this process, which has one event loop. */
export const readingTurns = new ReadingTurns();
