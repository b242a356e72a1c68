const everyMs = 60_000;

/**
 * Tells that a start waits for the server: at once, then every minute with the latest reason, which
 * may alternate between attempts, and when the server is there.
 */
export class WaitingNotes {
  readonly #say: (message: string) => void;
  readonly #now: () => number;
  #sinceMs: number | undefined;
  #saidMs = 0;

  constructor(say: (message: string) => void, now: () => number = () => performance.now()) {
    this.#say = say;
    this.#now = now;
  }

  /** Call it after each attempt that failed. */
  attemptFailed(reason: string): void {
    const now = this.#now();
    const isFirst = this.#sinceMs === undefined;
    this.#sinceMs ??= now;
    if (!isFirst && now - this.#saidMs < everyMs) return;
    this.#saidMs = now;
    this.#say(`waiting for PostgreSQL${isFirst ? '' : ` for ${seconds(now - this.#sinceMs)} s`}: ${reason}`);
  }

  /** Call it once an attempt has succeeded. */
  over(): void {
    if (this.#sinceMs !== undefined) this.#say(`PostgreSQL answers, after ${seconds(this.#now() - this.#sinceMs)} s`);
    this.#sinceMs = undefined;
  }
}

function seconds(ms: number): number {
  return Math.round(ms / 1000);
}
