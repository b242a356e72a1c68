import { join } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { reasonOf } from '../../telemetry/reason-of.ts';
import type { KeyId } from '../key-id.ts';
import type { Candidate, SecretKind } from '../token.ts';

/**
 * Limit of the wrong secrets that are compared for one key: `atOnce` in a burst, and one more after
 * each interval.
 */
export interface WrongSecretLimit {
  readonly atOnce: number;
  readonly intervalMs: number;
}

/**
 * The key has had too many wrong secrets: nothing is compared for it before `until` (milliseconds
 * since the epoch).
 */
export class KeyHeldBack extends Error {
  readonly until: number;

  constructor(until: number) {
    super('too many wrong secrets');
    this.until = until;
  }
}

const busyMs = 5000;

/**
 * The host's own count of wrong secrets, independent of the daemon: a token bucket for each key,
 * stored as the time at which the bucket is full again, so that a key without wrong secrets has no
 * row. A correct secret does not reset the count: an attacker who controls the daemon's process can
 * have a MAC made for a secret of their own. The count is on disk before the answer leaves, for all
 * threads and for the next host.
 *
 * Each thread has its own instance. Threads that compare at the same moment may all use up a key's
 * last attempt; the bucket is then in debt, so that the rate holds over time.
 */
export class WrongSecrets {
  readonly #limit: WrongSecretLimit;
  readonly #database: DatabaseSync;
  readonly #count: StatementSync;
  readonly #list: StatementSync;
  /** Incremented with each change by any thread. */
  readonly #changes: Int32Array;
  readonly #failed: (reason: string) => void;
  #known = -1;
  /** Keys that are held back, with the end of the hold in milliseconds since the epoch. */
  readonly #heldBack = new Map<string, number>();
  #isBroken = false;

  /**
   * @param changes a counter (4 bytes) shared by all threads of the host
   * @param failed called with the reason if counting fails
   */
  constructor(directory: string, limit: WrongSecretLimit, changes: SharedArrayBuffer, failed: (reason: string) => void) {
    this.#limit = limit;
    this.#database = openDatabase(directory);
    this.#changes = new Int32Array(changes);
    this.#failed = failed;
    this.#count = this.#database.prepare(
      'INSERT INTO wrong_secrets (key_id, full_at) VALUES (:id, :now + :more) ON CONFLICT (key_id) DO UPDATE SET full_at = max(full_at, :now) + :more',
    );
    this.#list = this.#database.prepare('SELECT key_id, full_at FROM wrong_secrets WHERE full_at > ?');
  }

  /** Must be called before anything is compared for the key. @throws {KeyHeldBack} */
  check(id: KeyId): void {
    if (this.#isBroken) throw new Error('wrong secrets cannot be counted');
    const changes = Atomics.load(this.#changes, 0);
    if (changes !== this.#known) this.#read(changes);
    if (this.#heldBack.size === 0) return;
    const until = this.#heldBack.get(id);
    if (until === undefined) return;
    if (until > Date.now()) throw new KeyHeldBack(until);
    this.#heldBack.delete(id);
  }

  /**
   * Counts wrong secrets; the count is on disk when this returns.
   * @throws {Error} if it cannot be written: from then on nothing is compared
   */
  count(id: KeyId, wrong: number): void {
    try {
      this.#count.run({ id, now: Date.now(), more: wrong * this.#limit.intervalMs });
    } catch (error) {
      this.#isBroken = true;
      const reason = `wrong secrets cannot be counted: ${reasonOf(error)}`;
      this.#failed(reason);
      throw new Error(reason, { cause: error });
    }
    Atomics.add(this.#changes, 0, 1);
  }

  /** Reads the keys that are held back: those whose bucket is empty. */
  #read(changes: number): void {
    const now = Date.now();
    const allButOneMs = (this.#limit.atOnce - 1) * this.#limit.intervalMs;
    this.#heldBack.clear();
    for (const { key_id: id, full_at: fullAt } of this.#list.all(now + allButOneMs))
      this.#heldBack.set(String(id), Number(fullAt) - allButOneMs);
    this.#known = changes;
  }
}

/**
 * Creates the table and deletes expired rows; the host runs it before its threads.
 * @throws {Error} if the file cannot be written
 */
export function prepareWrongSecrets(directory: string, { atOnce, intervalMs }: WrongSecretLimit): void {
  const database = openDatabase(directory);
  try {
    database.exec('CREATE TABLE IF NOT EXISTS wrong_secrets (key_id TEXT PRIMARY KEY, full_at INTEGER NOT NULL) STRICT, WITHOUT ROWID');
    const now = Date.now();
    database.prepare('DELETE FROM wrong_secrets WHERE full_at <= ?').run(now);
    // A clock that was ahead for a while must not block a key for as long.
    const latest = now + atOnce * intervalMs;
    database.prepare('UPDATE wrong_secrets SET full_at = :latest WHERE full_at > :latest').run({ latest });
  } finally {
    database.close();
  }
}

function openDatabase(directory: string): DatabaseSync {
  const database = new DatabaseSync(join(directory, 'wrong-secrets.sqlite'), { timeout: busyMs });
  // A journal without shared memory, and every commit on the disk.
  database.exec('PRAGMA journal_mode = TRUNCATE; PRAGMA synchronous = FULL');
  return database;
}

/**
 * Whether the kind is a one-time password: that a given secret is not one reveals nothing, since
 * most are not.
 */
const isOtp = (kind: SecretKind): boolean => kind.startsWith('OTP_');

/**
 * Returns the index of the candidate that the answer names. A matching one-time password comes
 * first: the answer then reveals nothing about a password, so that a correct secret of one's own
 * cannot cover guesses. Otherwise the first match counts.
 */
export function answeredCandidate(anyOf: readonly Candidate[], verdicts: readonly boolean[]): number | undefined {
  const otp = verdicts.findIndex((isRight, place) => isRight && isOtp(anyOf[place]?.kind ?? 'PASSWORD'));
  const by = otp === -1 ? verdicts.indexOf(true) : otp;
  return by === -1 ? undefined : by;
}

/**
 * Returns the number of wrong secrets that an answer reveals. Candidates of different kinds are one
 * secret, compared with everything that it may be; several of one kind are guesses. If one was
 * right, the answer reveals that those before it were wrong; a password that is not a one-time
 * password does not count.
 */
export function wrongSecretsRevealed(anyOf: readonly Candidate[], by: number | undefined): number {
  const revealed =
    by === undefined
      ? anyOf
      : isOtp(anyOf[by]?.kind ?? 'PASSWORD')
        ? anyOf.filter(({ kind }, place) => isOtp(kind) && place < by)
        : anyOf.slice(0, by).filter(({ kind }) => !isOtp(kind));
  const ofKind = new Map<SecretKind, number>();
  for (const { kind } of revealed) ofKind.set(kind, (ofKind.get(kind) ?? 0) + 1);
  return Math.max(by === undefined ? 1 : 0, ...ofKind.values());
}
