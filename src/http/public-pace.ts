/** Who would wait longer is refused. */
const longestWaitMs = 2000;

/**
 * How fast requests of strangers are taken, all together: what comes faster waits for its turn, in order, so that a flood waits for itself and not the
 * callers of the API. A second's share may come at once.
 */
export class PublicPace {
  readonly #perSecond: number;
  /** When the next request may be taken, if they come one after the other; milliseconds of `performance.now()`. */
  #next = 0;
  readonly #waiting: { readonly atMs: number; readonly begin: () => void }[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(requestsPerSecond: number) {
    this.#perSecond = requestsPerSecond;
  }

  /** Begins now or in its turn; false where that would be too late. */
  take(begin: () => void): boolean {
    const now = performance.now();
    const atMs = Math.max(this.#next, now - 1000);
    if (atMs - now > longestWaitMs) return false;
    this.#next = atMs + 1000 / this.#perSecond;
    if (atMs <= now && this.#waiting.length === 0) {
      begin();
      return true;
    }
    this.#waiting.push({ atMs, begin });
    this.#timer ??= setTimeout(() => {
      this.#beginDue();
    }, atMs - now);
    return true;
  }

  #beginDue(): void {
    this.#timer = undefined;
    const now = performance.now();
    const count = this.#waiting.findIndex(({ atMs }) => atMs > now);
    for (const { begin } of this.#waiting.splice(0, count < 0 ? this.#waiting.length : count)) begin();
    const [next] = this.#waiting;
    if (next === undefined) return;
    this.#timer = setTimeout(() => {
      this.#beginDue();
    }, next.atMs - now);
  }
}
