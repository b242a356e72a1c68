/**
 * Values by the numbers of objects. When they take more memory than a limit, all but the newest are
 * forgotten.
 */
export class KeptByNumber<T> {
  readonly #maxBytes: number;
  readonly #values = new Map<number, T>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get(number: number): T | undefined {
    return this.#values.get(number);
  }

  /** `bytes`: memory that the value takes, roughly. */
  keep(number: number, value: T, bytes: number): void {
    if (this.#bytes + bytes > this.#maxBytes) this.clear();
    this.#values.set(number, value);
    this.#bytes += bytes;
  }

  clear(): void {
    this.#values.clear();
    this.#bytes = 0;
  }
}
