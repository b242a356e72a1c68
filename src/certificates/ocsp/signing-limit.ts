import { TokenBucket } from '../../service/token-bucket.ts';

/** Limits on the signatures that anonymous requests may use. */
export interface SigningLimitSettings {
  readonly signaturesPerSecond: number;
  /** Maximum number of signatures in progress. */
  readonly atOnceMax: number;
  /** Maximum number of waiting signatures. */
  readonly waitingMax: number;
}

/** Thrown if anonymous requests exceed the limit of signatures. */
export class TooManySignatures extends Error {
  constructor() {
    super('too many signatures for anonymous requests');
    this.name = 'TooManySignatures';
  }
}

/**
 * Limits the signatures made per second (a full second's worth may come at once), and those in
 * progress.
 */
export class SigningLimit {
  readonly #settings: SigningLimitSettings;
  readonly #bucket: TokenBucket;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(settings: SigningLimitSettings) {
    this.#settings = settings;
    const rate = { perSecond: settings.signaturesPerSecond, capacity: settings.signaturesPerSecond };
    this.#bucket = new TokenBucket(() => rate);
  }

  /** Runs the work within the limits. @throws {TooManySignatures} before the work begins */
  async run<T>(work: () => Promise<T>): Promise<T> {
    await this.#enter();
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      // The place passes to the next.
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }

  async #enter(): Promise<void> {
    const { atOnceMax, waitingMax } = this.#settings;
    if ((this.#running >= atOnceMax && this.#waiting.length >= waitingMax) || !this.#bucket.take()) throw new TooManySignatures();
    if (this.#running < atOnceMax) {
      this.#running += 1;
      return;
    }
    await new Promise<void>((resolve) => {
      this.#waiting.push(resolve);
    });
  }
}
