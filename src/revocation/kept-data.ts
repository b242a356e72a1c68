/** Revocation data that is still good, so that it is not asked for again. The oldest goes when there is too much of it. */
export class KeptData<T> {
  readonly #maxBytes: number;
  readonly #entries = new Map<string, { readonly value: T; readonly bytes: number; readonly until: number }>();
  readonly #asking = new Map<string, Promise<T>>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** What is kept, or what `ask` answers: once for all who ask at the same time. `until`: milliseconds since epoch, when it is good no more. */
  async get(key: string, at: Date, ask: () => Promise<{ readonly value: T; readonly bytes: number; readonly until: number }>): Promise<T> {
    const kept = this.#entries.get(key);
    if (kept !== undefined && kept.until > at.getTime()) return kept.value;
    const asking = this.#asking.get(key);
    if (asking !== undefined) return asking;
    const answer = ask().then((entry) => {
      this.#keep(key, entry);
      return entry.value;
    });
    this.#asking.set(key, answer);
    try {
      return await answer;
    } finally {
      this.#asking.delete(key);
    }
  }

  /** What was kept is of no use: the next one asks again. */
  forget(key: string): void {
    const kept = this.#entries.get(key);
    if (kept === undefined) return;
    this.#entries.delete(key);
    this.#bytes -= kept.bytes;
  }

  #keep(key: string, entry: { readonly value: T; readonly bytes: number; readonly until: number }): void {
    this.forget(key);
    if (entry.bytes > this.#maxBytes) return;
    this.#entries.set(key, entry);
    this.#bytes += entry.bytes;
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.#maxBytes) return;
      this.forget(oldest);
    }
  }
}
