import { setTimeout as delay } from 'node:timers/promises';

const lookMs = 10;

/** The requests and operators' commands that have begun and have no record yet. */
export class RunningRequests {
  readonly #running = new Set<object>();

  begin(work: object): void {
    this.#running.add(work);
  }

  end(work: object): void {
    this.#running.delete(work);
  }

  /** Waits until everything that runs now has ended. Returns the number of those that took longer. */
  async endOfPresent(maxMs: number): Promise<number> {
    const present = [...this.#running];
    const until = performance.now() + maxMs;
    const left = (): number => present.filter((work) => this.#running.has(work)).length;
    while (left() > 0 && performance.now() < until) await delay(lookMs);
    return left();
  }
}
