import type { Line } from './line.ts';

interface Offer {
  readonly record: Line;
  readonly timeMs: number;
  readonly taken: () => void;
  readonly failed: (reason: unknown) => void;
}

/**
 * Brings the records of several logs, each of which is read by a reader of its own, into the order of their times: a reader waits with
 * its next record until those of the others are not older.
 */
export class RecordOrder {
  readonly #take: (record: Line) => Promise<void>;
  /** Of each log that has not ended, its next record. */
  readonly #offers: Map<number, Offer | undefined>;

  /**
   * @param logs their number; they are named by their index
   * @param take receives each record
   */
  constructor(logs: number, take: (record: Line) => Promise<void>) {
    this.#offers = new Map(Array.from({ length: logs }, (_, log) => [log, undefined]));
    this.#take = take;
  }

  /** Resolves once the record was taken. The log must not have another one waiting. */
  async offer(log: number, record: Line): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    const taken = (): void => {
      resolve(undefined);
    };
    this.#offers.set(log, { record, timeMs: Date.parse(record.time), taken, failed: reject });
    void this.#takeNext();
    return promise;
  }

  /** The log has no more records: the others no longer wait for it. */
  ended(log: number): void {
    this.#offers.delete(log);
    void this.#takeNext();
  }

  /** Takes the oldest record if each log has one. Its log then offers the next one. */
  async #takeNext(): Promise<void> {
    let oldest: { readonly log: number; readonly offer: Offer } | undefined;
    for (const [log, offer] of this.#offers) {
      if (offer === undefined) return;
      if (oldest === undefined || offer.timeMs < oldest.offer.timeMs) oldest = { log, offer };
    }
    if (oldest === undefined) return;
    const { log, offer } = oldest;
    this.#offers.set(log, undefined);
    try {
      await this.#take(offer.record);
      offer.taken();
    } catch (error) {
      offer.failed(error);
    }
  }
}
