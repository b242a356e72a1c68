import { TokenBucket } from '../../service/token-bucket.ts';

/** How much of the token strangers may have. */
export interface SigningLimitSettings {
  readonly signaturesPerSecond: number;
  /** Of them, so many at once. */
  readonly atOnceMax: number;
  /** And so many wait. */
  readonly waitingMax: number;
}

/** More is asked for than strangers may have. */
export class TooManySignatures extends Error {
  constructor() {
    super('more signatures are asked for than strangers may have');
    this.name = 'TooManySignatures';
  }
}

/**
 * Bounds how many signatures are made in a second (a full second's worth may come at once), and how
 * many at the same time.
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

  /** @throws {TooManySignatures} before the work is begun */
  async run<T>(work: () => Promise<T>): Promise<T> {
    await this.#enter();
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      // The place is handed on.
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
