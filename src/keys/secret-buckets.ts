import type { Change } from '../state/database.ts';
import type { StateStore } from '../state/state-store.ts';

/** A client or a tenant, with the limits in force. */
export interface PaceSubject {
  /** As the state store has it. */
  readonly name: string;
  /** Wrong secrets that may come at once. */
  readonly burst: number;
  /** After how long there is one more. */
  readonly intervalMs: number;
}

export interface Bucket {
  /** When it is full again; milliseconds since epoch. */
  fullAt: number;
  /** Attempts whose secrets are being compared. */
  inFlight: number;
  /** Attempts that are not in flight yet. */
  coming: number;
  /** All are woken when one of them ends. */
  readonly waiting: Set<() => void>;
  /** Whether the row is still to be read. */
  isStale: boolean;
}

/** A bucket is at most this many times in debt: a clock that was ahead must not block for as long. */
const debtMax = 4;
const sweepAtBuckets = 1024;

/**
 * The token buckets of wrong secrets, in memory and in the state store. Each is known by the time at
 * which it is full again.
 */
export class SecretBuckets {
  readonly #store: StateStore;
  readonly #buckets = new Map<string, Bucket>();
  #sweepAt = sweepAtBuckets;
  /** Changes that were reported: rows that are read meanwhile may lack them. */
  #changes = 0;
  /** What is to be added to rows: milliseconds, and the latest time. */
  #unkept = new Map<string, { moreMs: number; latest: number }>();
  #keeping: Promise<void> | undefined;
  #keepingNext: Promise<void> | undefined;

  constructor(store: StateStore) {
    this.#store = store;
    store.onChange((change) => {
      this.#take(change);
    });
  }

  /** Returns the bucket, new if memory has none. */
  at({ name }: PaceSubject): Bucket {
    const known = this.#buckets.get(name);
    if (known !== undefined) return known;
    if (this.#buckets.size >= this.#sweepAt) this.#sweep();
    const fresh: Bucket = { fullAt: 0, inFlight: 0, coming: 0, waiting: new Set(), isStale: true };
    this.#buckets.set(name, fresh);
    return fresh;
  }

  /** Reads the rows that memory does not have. */
  async read(subjects: readonly PaceSubject[]): Promise<void> {
    const stale = subjects.filter((subject) => this.at(subject).isStale);
    if (stale.length === 0) return;
    const changes = this.#changes;
    const names = stale.map(({ name }) => name);
    const rows = await this.#store.run('findSecretPaces', names);
    for (const subject of stale) {
      const row = rows.find(({ subject: name }) => name === subject.name);
      if (row !== undefined) this.#raise(subject.name, Math.min(row.full_at, this.#latest(subject)));
      if (this.#changes === changes) this.at(subject).isStale = false;
    }
  }

  /** Whether memory has its row. */
  isKnown({ name }: PaceSubject): boolean {
    return this.#buckets.get(name)?.isStale === false;
  }

  /** Whether it has a token that no attempt in flight may need. */
  hasRoom(subject: PaceSubject): boolean {
    const bucket = this.at(subject);
    return this.#tokens(subject, bucket) - bucket.inFlight >= 1;
  }

  /** Whether it has one that no attempt before may need, including those that are not yet in flight. */
  hasRoomBehind(subject: PaceSubject): boolean {
    const bucket = this.at(subject);
    return this.#tokens(subject, bucket) - bucket.inFlight - bucket.coming >= 1;
  }

  /** Returns the milliseconds until it has a token. */
  waitMs(subject: PaceSubject): number {
    return (1 - this.#tokens(subject, this.at(subject))) * subject.intervalMs;
  }

  /** Takes a token of each, at once in memory. */
  spend(subjects: readonly PaceSubject[]): void {
    const now = this.#store.now();
    for (const subject of subjects) {
      const { name, intervalMs } = subject;
      const latest = this.#latest(subject);
      const bucket = this.at(subject);
      bucket.fullAt = Math.min(Math.max(bucket.fullAt, now) + intervalMs, latest);
      const moreMs = (this.#unkept.get(name)?.moreMs ?? 0) + intervalMs;
      this.#unkept.set(name, { moreMs, latest });
    }
  }

  /**
   * Resolves when every token that was taken before the call is in the state store. An instance has
   * one write in progress, so that those of several instances seldom conflict.
   * @throws {StoreUnavailable} and what could not be written is part of the next write
   */
  async keep(): Promise<void> {
    this.#keepingNext ??= this.#keepAfter(this.#keeping);
    return this.#keepingNext;
  }

  async #keepAfter(current: Promise<void> | undefined): Promise<void> {
    await current?.catch(() => undefined);
    this.#keeping = this.#keepingNext;
    this.#keepingNext = undefined;
    const unkept = this.#unkept;
    this.#unkept = new Map();
    const counted = [...unkept].map(([subject, { moreMs, latest }]) => ({
      subject,
      moreMs: Math.round(moreMs),
      latest: Math.round(latest),
    }));
    try {
      const rows = await this.#store.run('countWrongSecrets', { counted, now: this.#store.now() });
      for (const { subject, full_at: fullAt } of rows) this.#raise(subject, fullAt);
    } catch (error) {
      for (const [name, { moreMs, latest }] of unkept) {
        const later = this.#unkept.get(name);
        this.#unkept.set(name, { moreMs: moreMs + (later?.moreMs ?? 0), latest: later?.latest ?? latest });
      }
      throw error;
    }
  }

  #raise(name: string, fullAt: number): void {
    const bucket = this.#buckets.get(name);
    if (bucket !== undefined) bucket.fullAt = Math.max(bucket.fullAt, fullAt);
  }

  #tokens({ burst, intervalMs }: PaceSubject, { fullAt }: Bucket): number {
    return burst - Math.max(0, fullAt - this.#store.now()) / intervalMs;
  }

  #latest({ burst, intervalMs }: PaceSubject): number {
    return this.#store.now() + debtMax * burst * intervalMs;
  }

  #sweep(): void {
    const now = this.#store.now();
    for (const [name, { fullAt, inFlight, coming, waiting }] of this.#buckets) {
      if (fullAt <= now && inFlight + coming === 0 && waiting.size === 0 && !this.#unkept.has(name)) this.#buckets.delete(name);
    }
    this.#sweepAt = Math.max(sweepAtBuckets, 2 * this.#buckets.size);
  }

  #take(change: Change): void {
    if (change !== 'everything' && change.table !== 'secret_paces') return;
    this.#changes += 1;
    const changed = change === 'everything' ? this.#buckets.values() : [this.#buckets.get(change.id)];
    for (const bucket of changed) if (bucket !== undefined) bucket.isStale = true;
  }
}
