/** Who would wait longer is refused. */
const longestWaitMs = 2000;
const burstMs = 100;

/**
 * How fast requests of strangers are taken, all together: what comes faster waits for its turn, in order, so that a flood waits for itself and not the
 * callers of the API. A tenth of a second's share may come at once.
 */
export class PublicPace {
  readonly #perSecond: number;
  /** When the next request may be taken, if they come one after the other; milliseconds of `performance.now()`. */
  #next = 0;
  readonly #waiting: { readonly atMs: number; readonly begin: () => void }[] = [];
  #isTimed = false;

  constructor(requestsPerSecond: number) {
    this.#perSecond = requestsPerSecond;
  }

  /** Begins now or in its turn; false where that would be too late. */
  take(begin: () => void): boolean {
    const now = performance.now();
    const atMs = Math.max(this.#next, now - burstMs);
    if (atMs - now > longestWaitMs) return false;
    this.#next = atMs + 1000 / this.#perSecond;
    if (atMs <= now && this.#waiting.length === 0) {
      begin();
      return true;
    }
    this.#waiting.push({ atMs, begin });
    if (!this.#isTimed) this.#beginAfter(atMs - now);
    return true;
  }

  #beginDue(): void {
    const now = performance.now();
    const count = this.#waiting.findIndex(({ atMs }) => atMs > now);
    for (const { begin } of this.#waiting.splice(0, count < 0 ? this.#waiting.length : count)) begin();
    const [next] = this.#waiting;
    this.#isTimed = next !== undefined;
    if (next !== undefined) this.#beginAfter(next.atMs - now);
  }

  #beginAfter(waitMs: number): void {
    this.#isTimed = true;
    setTimeout(() => {
      this.#beginDue();
    }, waitMs);
  }
}
