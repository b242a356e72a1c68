/** A cached answer and when it expires (milliseconds since epoch). */
interface Kept<T> {
  readonly answer: T;
  readonly untilMs: number;
}

/**
 * Cache of answers about single certificates, with eviction of the least recently used. An answer
 * that was begun before a change goes only to requests that came before the change.
 */
export class AnswerCache<T> {
  readonly #certificatesMax: number;
  readonly #now: () => number;
  /**
   * By certificate, then by form of the CertID: one of a few hash functions, with or without
   * parameters.
   */
  readonly #kept = new Map<string, Map<number, Promise<Kept<T>> | Kept<T>>>();

  /** `now`: clock for expiry, milliseconds since epoch. */
  constructor(certificatesMax: number, now: () => number) {
    this.#certificatesMax = certificatesMax;
    this.#now = now;
  }

  get certificates(): number {
    return this.#kept.size;
  }

  /**
   * Returns the cached answer, or the one that is being made, or calls `make`. If `untilMs` is
   * undefined, the answer is not cached.
   */
  get(certificate: string, form: number, make: () => Promise<{ answer: T; untilMs: number | undefined }>): T | Promise<T> {
    const known = this.#kept.get(certificate)?.get(form);
    if (known instanceof Promise) return known.then(({ answer }) => answer);
    if (known !== undefined && known.untilMs > this.#now()) {
      this.#touch(certificate);
      return known.answer;
    }
    return this.#make(certificate, form, make);
  }

  /** Drops what is cached about the certificate. */
  forget(certificate: string): void {
    this.#kept.delete(certificate);
  }

  forgetAll(): void {
    this.#kept.clear();
  }

  async #make(certificate: string, form: number, make: () => Promise<{ answer: T; untilMs: number | undefined }>): Promise<T> {
    const forms = this.#kept.get(certificate) ?? new Map<number, Promise<Kept<T>> | Kept<T>>();
    const making = make().then(({ answer, untilMs }) => ({ answer, untilMs: untilMs ?? 0 }));
    forms.set(form, making);
    this.#kept.set(certificate, forms);
    this.#shrink();
    try {
      const made = await making;
      if (made.untilMs === 0) this.#drop(certificate, forms, form);
      // If the certificate was forgotten meanwhile, these forms are no longer in the map.
      else forms.set(form, made);
      return made.answer;
    } catch (error) {
      this.#drop(certificate, forms, form);
      throw error;
    }
  }

  #drop(certificate: string, forms: Map<number, unknown>, form: number): void {
    forms.delete(form);
    if (forms.size === 0 && this.#kept.get(certificate) === forms) this.#kept.delete(certificate);
  }

  #touch(certificate: string): void {
    const forms = this.#kept.get(certificate);
    if (forms === undefined) return;
    this.#kept.delete(certificate);
    this.#kept.set(certificate, forms);
  }

  #shrink(): void {
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= this.#certificatesMax) return;
      this.#kept.delete(oldest);
    }
  }
}
