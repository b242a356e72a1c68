/** What is kept: an answer that is there or being made, and when it is to be made anew (milliseconds since epoch). */
interface Kept<T> {
  readonly answer: T;
  readonly untilMs: number;
}

/**
 * Answers about one certificate each, kept until something changes; the least recently used go first. An answer that was begun before a change is given
 * to those who asked before, and to nobody after.
 */
export class AnswerCache<T> {
  readonly #certificatesMax: number;
  readonly #now: () => number;
  /** By certificate, then by the way in which it was asked for: a few hash functions, with or without parameters. */
  readonly #kept = new Map<string, Map<number, Promise<Kept<T>> | Kept<T>>>();

  /** `now`: the clock that answers end by, milliseconds since epoch. */
  constructor(certificatesMax: number, now: () => number) {
    this.#certificatesMax = certificatesMax;
    this.#now = now;
  }

  get certificates(): number {
    return this.#kept.size;
  }

  /** The kept answer, or the one that somebody else has begun, or the one that `make` makes. `make` says undefined for how long where it is not kept. */
  get(certificate: string, form: number, make: () => Promise<{ answer: T; untilMs: number | undefined }>): T | Promise<T> {
    const known = this.#kept.get(certificate)?.get(form);
    if (known instanceof Promise) return known.then(({ answer }) => answer);
    if (known !== undefined && known.untilMs > this.#now()) {
      this.#touch(certificate);
      return known.answer;
    }
    return this.#make(certificate, form, make);
  }

  /** Nobody who asks from now on gets what was known of the certificate. */
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
      // Where it was forgotten meanwhile, these forms are no longer in the map.
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
