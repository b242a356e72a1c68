/** Refusals take their time from the requests that are served: for two of those there is at most one refusal. */
const refusalsPerServed = 0.5;
/** Where little is served, refusals cost little. */
const minPerSecond = 50;
const minRestMs = 100;
const maxRestMs = 10_000;
const windowMs = 1000;

/**
 * How long a connection that was refused is left unread. A refusal is cheap, and still clients that repeat it without a pause would take the time that
 * others' requests need: all of them together are answered at a pace that leaves most of the time to the requests that are served.
 */
export class RefusalPace {
  readonly #nowMs: () => number;
  #windowFromMs: number;
  #served = 0;
  #servedPerSecond = 0;
  /** When the last refused connection is read again. */
  #nextMs = 0;

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
    this.#windowFromMs = nowMs();
  }

  served(): void {
    this.#roll();
    this.#served += 1;
  }

  /** Milliseconds of rest for one more refused connection. */
  restMs(): number {
    this.#roll();
    const now = this.#nowMs();
    const perSecond = Math.max(minPerSecond, refusalsPerServed * this.#servedPerSecond);
    this.#nextMs = Math.min(now + maxRestMs, Math.max(now, this.#nextMs) + 1000 / perSecond);
    return Math.max(minRestMs, this.#nextMs - now);
  }

  #roll(): void {
    const elapsed = this.#nowMs() - this.#windowFromMs;
    if (elapsed < windowMs) return;
    this.#servedPerSecond = (1000 * this.#served) / elapsed;
    this.#served = 0;
    this.#windowFromMs += elapsed;
  }
}
