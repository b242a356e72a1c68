const sweepAtShares = 1024;

/** One share a client, made at its first request and forgotten while it is as good as a new one. */
export class ClientShares<T> {
  readonly #make: (name: string) => T;
  readonly #isAsNew: (share: T) => boolean;
  readonly #shares = new Map<string, T>();
  #sweepAt = sweepAtShares;

  constructor(make: (name: string) => T, isAsNew: (share: T) => boolean) {
    this.#make = make;
    this.#isAsNew = isAsNew;
  }

  of(name: string): T {
    const known = this.#shares.get(name);
    if (known !== undefined) return known;
    if (this.#shares.size >= this.#sweepAt) this.#sweep();
    const share = this.#make(name);
    this.#shares.set(name, share);
    return share;
  }

  #sweep(): void {
    for (const [name, share] of this.#shares) if (this.#isAsNew(share)) this.#shares.delete(name);
    this.#sweepAt = Math.max(sweepAtShares, 2 * this.#shares.size);
  }
}
