/**
 * Things in the order in which they were added, by the address that they count for: those of the
 * address with the most go first.
 */
export class ByAddress<T> {
  readonly #byAddress = new Map<string, Set<T>>();
  /** Addresses by the number of their things, each in the order in which it came to that number. */
  readonly #byCount = new Map<number, Set<string>>();
  #most = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  countOf(address: string): number {
    return this.#byAddress.get(address)?.size ?? 0;
  }

  add(address: string, one: T): void {
    const own = this.#byAddress.get(address) ?? new Set();
    this.#byAddress.set(address, own);
    own.add(one);
    this.#size += 1;
    this.#recount(address, own.size - 1, own.size);
  }

  remove(address: string, one: T): void {
    const own = this.#byAddress.get(address);
    if (own?.delete(one) !== true) return;
    if (own.size === 0) this.#byAddress.delete(address);
    this.#size -= 1;
    this.#recount(address, own.size + 1, own.size);
  }

  firstOf(address: string): T | undefined {
    const [first] = this.#byAddress.get(address) ?? [];
    return first;
  }

  /** The first one of the address that has the most. */
  first(): T | undefined {
    const [address] = this.#byCount.get(this.#most) ?? [];
    return address === undefined ? undefined : this.firstOf(address);
  }

  #recount(address: string, before: number, now: number): void {
    const earlier = this.#byCount.get(before);
    earlier?.delete(address);
    if (earlier?.size === 0) this.#byCount.delete(before);
    if (now > 0) {
      const same = this.#byCount.get(now) ?? new Set();
      this.#byCount.set(now, same);
      same.add(address);
    }
    // Counts change by one, so the next lower one has somebody where this one has nobody left.
    if (now > this.#most || !this.#byCount.has(this.#most)) this.#most = now;
  }
}
