import { Refusal } from '../../result-codes.ts';

/** Refuses requests while audit records cannot be handed over to the syslog server. */
export class NotHandedOver extends Refusal {
  static readonly retryAfterSeconds = 5;

  constructor(reason: string) {
    super('STORE_FULL', { message: 'audit records cannot be handed over to the syslog server', cause: reason });
    this.name = 'NotHandedOver';
  }
}

/** State of the forwarding at a moment (monotonic clock, milliseconds). */
export interface Forwarding {
  /** When the present connection was opened; undefined without one. */
  readonly connectedSinceMs: number | undefined;
  /** Number of the last record that is taken as received. */
  readonly received: number;
  /** Number of the last record on disk. */
  readonly durable: number;
}

export interface HandOverLimits {
  /** Age at which a record that is not received is late. */
  readonly lagMaxMs: number;
  /** A connection proves something once it has been open for this long. */
  readonly settleMs: number;
}

interface Mark {
  /** Number of the last record that was on disk at that moment. */
  readonly n: number;
  readonly sinceMs: number;
}

/**
 * Decides whether requests may go on where each record must reach a syslog server, which never
 * answers. They are held up while a record has not been received for `lagMaxMs`, or no connection
 * has lasted for `settleMs` within that time: a server that takes connections and drops them proves
 * nothing. They go on once a connection has lasted and at most half of the lag is left, so that a
 * server that comes and goes changes nothing more often than that. At the start, the first
 * connection is trusted until the lag has passed.
 */
export class HandOver {
  readonly #limits: HandOverLimits;
  /** Of the records that are not received, oldest first. */
  #marks: Mark[] = [];
  #provenMs: number | undefined;
  #isHeldUp = true;
  #lagMs = 0;

  constructor(limits: HandOverLimits) {
    this.#limits = limits;
  }

  get isHeldUp(): boolean {
    return this.#isHeldUp;
  }

  /** Age of the oldest record that is not received. */
  get lagMs(): number {
    return this.#lagMs;
  }

  /** To be called several times in each of the limits. Returns whether the decision has changed. */
  look({ connectedSinceMs, received, durable }: Forwarding, nowMs: number): boolean {
    const { lagMaxMs, settleMs } = this.#limits;
    this.#note(received, durable, nowMs);
    const [oldest] = this.#marks;
    this.#lagMs = oldest === undefined ? 0 : nowMs - oldest.sinceMs;
    if (connectedSinceMs !== undefined) {
      if (nowMs - connectedSinceMs >= settleMs) this.#provenMs = nowMs;
      else this.#provenMs ??= connectedSinceMs;
    }
    const isSilent = this.#provenMs === undefined || nowMs - this.#provenMs > lagMaxMs;
    const before = this.#isHeldUp;
    this.#isHeldUp = isSilent || this.#lagMs > (before ? lagMaxMs / 2 : lagMaxMs) || (before && connectedSinceMs === undefined);
    return this.#isHeldUp !== before;
  }

  #note(received: number, durable: number, nowMs: number): void {
    const noted = this.#marks.at(-1)?.n ?? received;
    if (durable > noted) this.#marks.push({ n: durable, sinceMs: nowMs });
    this.#marks = this.#marks.filter(({ n }) => n > received);
    // Among records that are late it does not matter how late each of them is.
    for (
      let [first, second] = this.#marks;
      first && second && second.sinceMs < nowMs - this.#limits.lagMaxMs;
      [first, second] = this.#marks
    )
      this.#marks.splice(0, 2, { n: second.n, sinceMs: first.sinceMs });
  }
}
