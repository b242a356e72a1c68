import { within } from '../outgoing/outgoing-http.ts';

/** A fetched value, its size, and when it expires (milliseconds since epoch). */
export interface Fetched<T> {
  readonly value: T;
  readonly bytes: number;
  readonly until: number;
}

export interface Wish<T> {
  /** Whether a cached value answers the current question. */
  readonly suits: (value: T) => boolean | Promise<boolean>;
  /**
   * Fetches a value worth caching, and throws otherwise. The signal aborts it once nobody waits any
   * longer.
   */
  readonly ask: (signal: AbortSignal) => Promise<Fetched<T>>;
  /** Ends the wait of this caller; others may continue to wait. */
  readonly signal?: AbortSignal | undefined;
}

interface Kept<T> extends Fetched<T> {
  /** When it was last fetched, milliseconds since epoch. */
  triedAt: number;
}

interface Running<T> {
  readonly answer: Promise<T>;
  readonly end: AbortController;
  waiting: number;
}

/** Minimum time between two fetches of data that did not answer the question. */
const retryMs = 60_000;

/** Maximum time for which data is cached, even if it is valid longer. */
export const keptMaxMs = 24 * 3_600_000;

/** Cache of valid revocation data, limited in size; the oldest entry is evicted first. */
export class KeptData<T> {
  readonly #maxBytes: number;
  readonly #entries = new Map<string, Kept<T>>();
  readonly #running = new Map<string, Running<T>>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /**
   * Returns the cached value or calls `ask`, once for all concurrent callers.
   * @throws what `ask` throws, or the reason of the signal
   */
  async get(key: string, at: Date, { suits, ask, signal }: Wish<T>): Promise<T> {
    const kept = this.#entries.get(key);
    if (kept !== undefined && kept.until > at.getTime() && ((await suits(kept.value)) || kept.triedAt + retryMs > at.getTime()))
      return kept.value;
    const running = this.#running.get(key) ?? this.#begin(key, at, ask);
    running.waiting += 1;
    // A caller without a signal waits until the end, so it is never subtracted.
    if (signal === undefined) return running.answer;
    try {
      return await within(running.answer, signal);
    } finally {
      running.waiting -= 1;
      if (running.waiting === 0) running.end.abort();
    }
  }

  #begin(key: string, at: Date, ask: Wish<T>['ask']): Running<T> {
    const end = new AbortController();
    const running = { answer: this.#ask(key, at, ask, end.signal), end, waiting: 0 };
    this.#running.set(key, running);
    end.signal.addEventListener('abort', () => {
      this.#end(key, end);
    });
    return running;
  }

  async #ask(key: string, at: Date, ask: Wish<T>['ask'], signal: AbortSignal): Promise<T> {
    try {
      const got = await ask(signal);
      this.#keep(key, { ...got, until: Math.min(got.until, at.getTime() + keptMaxMs), triedAt: at.getTime() });
      return got.value;
    } catch (error) {
      const kept = this.#entries.get(key);
      if (kept === undefined) throw error;
      kept.triedAt = at.getTime();
      if (kept.until <= at.getTime()) throw error;
      // Nothing newer is available, so the cached value is used.
      return kept.value;
    } finally {
      if (this.#running.get(key)?.end.signal === signal) this.#running.delete(key);
    }
  }

  /** Removes an aborted fetch, so that the next caller starts a new one. */
  #end(key: string, end: AbortController): void {
    if (this.#running.get(key)?.end === end) this.#running.delete(key);
  }

  #forget(key: string): void {
    const kept = this.#entries.get(key);
    if (kept === undefined) return;
    this.#entries.delete(key);
    this.#bytes -= kept.bytes;
  }

  #keep(key: string, entry: Kept<T>): void {
    this.#forget(key);
    if (entry.bytes > this.#maxBytes) return;
    this.#entries.set(key, entry);
    this.#bytes += entry.bytes;
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.#maxBytes) return;
      this.#forget(oldest);
    }
  }
}
