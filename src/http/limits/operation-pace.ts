import { operationPaces, type LimitsConfig, type OperationPaceName } from '../../config/limits-config.ts';
import { Problem } from '../problem.ts';

type PaceLimits = Pick<LimitsConfig, OperationPaceName>;

/** What one client may still send at once, as of a moment: it grows again with time. */
interface Share {
  left: number;
  atMs: number;
}

const minuteMs = 60_000;
const sweepAtShares = 1024;

/**
 * The pace of operations that cost a person something, such as messages to a telephone (contract §10): so many requests a minute of each client, which may
 * come at once after a rest.
 */
export class OperationPace {
  #limits: PaceLimits;
  readonly #nowMs: () => number;
  readonly #shares = new Map<string, Share>();
  #sweepAt = sweepAtShares;

  constructor(limits: PaceLimits, nowMs: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#nowMs = nowMs;
  }

  use(limits: PaceLimits): void {
    this.#limits = limits;
  }

  /** `client` is the fingerprint of its key, whether it is registered or not. @throws {Problem} 429, with the seconds after which one more is taken */
  take(pace: OperationPaceName, client: string): void {
    const perMinute = this.#limits[pace];
    const share = this.#shareOf(pace, client);
    this.#refill(share, perMinute);
    if (share.left < 1) {
      // Shares grow by fractions that binary numbers round.
      const seconds = Math.max(1, Math.ceil(((1 - share.left) * minuteMs) / perMinute / 1000 - 1e-6));
      throw new Problem(429, `this client may send ${perMinute} requests of this operation per minute`, {
        headers: { 'Retry-After': String(seconds) },
      });
    }
    share.left -= 1;
  }

  #shareOf(pace: OperationPaceName, client: string): Share {
    const name = `${pace} ${client}`;
    const known = this.#shares.get(name);
    if (known !== undefined) return known;
    if (this.#shares.size >= this.#sweepAt) this.#sweep();
    const share = { left: this.#limits[pace], atMs: this.#nowMs() };
    this.#shares.set(name, share);
    return share;
  }

  #refill(share: Share, perMinute: number): void {
    const now = this.#nowMs();
    share.left = Math.min(perMinute, share.left + ((now - share.atMs) / minuteMs) * perMinute);
    share.atMs = now;
  }

  /** Who has all again is as good as a new one. */
  #sweep(): void {
    for (const pace of operationPaces) {
      for (const [name, share] of this.#shares) {
        if (!name.startsWith(`${pace} `)) continue;
        this.#refill(share, this.#limits[pace]);
        if (share.left >= this.#limits[pace]) this.#shares.delete(name);
      }
    }
    this.#sweepAt = Math.max(sweepAtShares, 2 * this.#shares.size);
  }
}
