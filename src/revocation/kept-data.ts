import { within } from '../outgoing/within.ts';

/** What an answer was, and until when it is good: milliseconds since epoch. */
export interface Got<T> {
  readonly value: T;
  readonly bytes: number;
  readonly until: number;
}

export interface Wish<T> {
  /** Whether what is kept says anything about what is asked now. */
  readonly suits: (value: T) => boolean;
  /** Gets what is worth keeping, and throws for everything else. The signal ends it: nobody waits any more. */
  readonly ask: (signal: AbortSignal) => Promise<Got<T>>;
  /** Who asks leaves then; others may go on waiting. */
  readonly signal?: AbortSignal | undefined;
}

interface Kept<T> extends Got<T> {
  /** Milliseconds since epoch: when it was last asked for. */
  triedAt: number;
}

interface Running<T> {
  readonly answer: Promise<T>;
  readonly end: AbortController;
  waiting: number;
}

/** What does not suit is not asked for again and again. */
const retryMs = 60_000;

/** Nothing is kept longer, whatever it says of itself. */
export const keptMaxMs = 24 * 3_600_000;

/** Revocation data that is still good, so that it is not asked for again. The oldest goes when there is too much of it. */
export class KeptData<T> {
  readonly #maxBytes: number;
  readonly #entries = new Map<string, Kept<T>>();
  readonly #running = new Map<string, Running<T>>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** What is kept, or what `ask` answers: once for all who ask at the same time. @throws what `ask` throws, and the reason of the signal */
  async get(key: string, at: Date, { suits, ask, signal }: Wish<T>): Promise<T> {
    const kept = this.#entries.get(key);
    if (kept !== undefined && kept.until > at.getTime() && (suits(kept.value) || kept.triedAt + retryMs > at.getTime())) return kept.value;
    const running = this.#running.get(key) ?? this.#begin(key, at, ask);
    running.waiting += 1;
    // Who cannot leave is never counted off: it goes on to its end.
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
      // Nothing newer is to be had: the one that is kept says what it says.
      return kept.value;
    } finally {
      if (this.#running.get(key)?.end.signal === signal) this.#running.delete(key);
    }
  }

  /** Who comes when all have left begins anew. */
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
