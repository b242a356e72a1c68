import type { Change } from '../state/database.ts';
import type { CountedSecrets } from '../state/repositories/secret-paces.ts';
import type { StateStore } from '../state/state-store.ts';
import type { SecretPaceRow } from '../state/tables/keys.ts';

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
  /** Tokens that were missing at a time; a fraction. */
  missing: number;
  /** Milliseconds since epoch. */
  asOf: number;
  /** Attempts whose secrets are being compared. */
  inFlight: number;
  /** Attempts that are not in flight yet. */
  coming: number;
  /** All are woken when one of them ends. */
  readonly waiting: Set<() => void>;
  /** Whether the row is still to be read. */
  isStale: boolean;
}

const sweepAtBuckets = 1024;
/** What memory has is also in the state store. */
const forgottenMs = 60_000;

/**
 * The token buckets of wrong secrets, in memory and in the state store. Each is known by the tokens
 * that are missing, so that other limits apply as soon as they are in force.
 */
export class SecretBuckets {
  readonly #store: StateStore;
  readonly #buckets = new Map<string, Bucket>();
  #sweepAt = sweepAtBuckets;
  /** Changes that were reported: rows that are read meanwhile may lack them. */
  #changes = 0;
  /** What is to be added to rows. */
  #unkept = new Map<string, CountedSecrets>();
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
    const fresh: Bucket = { missing: 0, asOf: 0, inFlight: 0, coming: 0, waiting: new Set(), isStale: true };
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
      if (row !== undefined) this.#raise(subject, row);
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
      const bucket = this.at(subject);
      bucket.missing = missingAt(now, bucket, subject) + 1;
      bucket.asOf = now;
      const { name, intervalMs } = subject;
      this.#unkept.set(name, { subject: name, intervalMs, more: (this.#unkept.get(name)?.more ?? 0) + 1 });
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
    try {
      const counted = [...unkept.values()];
      await this.#store.run('countWrongSecrets', { counted, now: this.#store.now() });
    } catch (error) {
      for (const [name, { more, ...one }] of unkept) this.#unkept.set(name, { ...one, more: more + (this.#unkept.get(name)?.more ?? 0) });
      throw error;
    }
  }

  /** Applies a row: as many tokens are missing as it says, or as are known to be. */
  #raise(subject: PaceSubject, row: SecretPaceRow): void {
    const now = this.#store.now();
    const bucket = this.at(subject);
    // A clock that was ahead must not keep tokens missing until its time has come.
    const stored = { missing: row.missing, asOf: Math.min(row.as_of, now) };
    bucket.missing = Math.max(missingAt(now, bucket, subject), missingAt(now, stored, subject));
    bucket.asOf = now;
  }

  #tokens(subject: PaceSubject, bucket: Bucket): number {
    return subject.burst - missingAt(this.#store.now(), bucket, subject);
  }

  #sweep(): void {
    const longAgo = this.#store.now() - forgottenMs;
    for (const [name, { asOf, inFlight, coming, waiting }] of this.#buckets) {
      if (asOf <= longAgo && inFlight + coming === 0 && waiting.size === 0 && !this.#unkept.has(name)) this.#buckets.delete(name);
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

function missingAt(now: number, { missing, asOf }: Pick<Bucket, 'missing' | 'asOf'>, { intervalMs }: PaceSubject): number {
  return Math.max(0, missing - Math.max(0, now - asOf) / intervalMs);
}
