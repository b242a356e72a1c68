/** A thread on which nothing has succeeded for this long, in several requests, does not serve. */
const failingMaxMs = 3000;
const failingMinRequests = 3;
/** A trial that has just succeeded need not be made again for the same kind of failure. */
const trustedMs = 250;

/**
 * `whole`: a MAC was verified and a signature made. `part`: there is no key yet for one of the two.
 */
export type TrialOutcome = 'whole' | 'part';

/**
 * Judges whether a thread still serves after an error that does not tell. The rule is what the token
 * does, not what it answers: vendors have codes of their own.
 */
export class HostHealth {
  readonly #renew: () => void;
  readonly #tryIt: () => TrialOutcome;
  #failures = 0;
  #failingSinceMs = 0;
  #triedAtMs = -Infinity;

  /**
   * @param renew opens another session
   * @param tryIt has the token do what requests need. Both throw what the token answers.
   */
  constructor(renew: () => void, tryIt: () => TrialOutcome) {
    this.#renew = renew;
    this.#tryIt = tryIt;
  }

  /** A request was carried out. */
  succeeded(): void {
    this.#failures = 0;
  }

  /**
   * Returns whether the thread still serves, in another session, after a request that has failed: not
   * if the trial fails twice, or if nothing has succeeded for some seconds.
   */
  stillServes(): boolean {
    const now = performance.now();
    if (this.#failures === 0) this.#failingSinceMs = now;
    this.#failures += 1;
    const outcome = this.#trial(now) ?? this.#trial(now);
    if (outcome === undefined) return false;
    // Whatever the request meets, the token serves.
    if (outcome === 'whole') this.#failures = 0;
    return this.#failures < failingMinRequests || performance.now() - this.#failingSinceMs < failingMaxMs;
  }

  /** Returns undefined if it fails. */
  #trial(now: number): TrialOutcome | undefined {
    try {
      this.#renew();
      if (now - this.#triedAtMs < trustedMs) return 'part';
      const outcome = this.#tryIt();
      this.#triedAtMs = performance.now();
      return outcome;
    } catch {
      return undefined;
    }
  }
}
