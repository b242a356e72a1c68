import { join } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { KeyId } from '../key-id.ts';
import type { Candidate, SecretKind } from '../token.ts';

/** How many wrong secrets of one key are compared: so many at once, and one more after each interval. */
export interface WrongSecretLimit {
  readonly atOnce: number;
  readonly intervalMs: number;
}

/** The key has had too many wrong secrets: nothing is compared for it until then. Milliseconds since epoch. */
export class KeyHeldBack extends Error {
  readonly until: number;

  constructor(until: number) {
    super('too many wrong secrets');
    this.until = until;
  }
}

const busyMs = 5000;

/**
 * The host's own count of wrong secrets, whatever the daemon says: a token bucket a key, kept as the time at which the bucket is full again, so that a key
 * without wrong secrets has no row. A right secret sets nothing back: who owns the daemon's process can have a MAC made for a secret of their own. What is
 * counted is on the disk before the answer leaves, for all threads and for the next host.
 *
 * Each thread has one of these. Threads that compare at the same moment may all do so with the last of what a key has left; the bucket is in debt then,
 * so that the rate holds over time.
 */
export class WrongSecrets {
  readonly #limit: WrongSecretLimit;
  readonly #database: DatabaseSync;
  readonly #count: StatementSync;
  readonly #list: StatementSync;
  /** Grows with each change, of whichever thread. */
  readonly #changes: Int32Array;
  readonly #failed: (reason: string) => void;
  #known = -1;
  /** Keys that are held back, and until when: milliseconds since epoch. */
  readonly #heldBack = new Map<string, number>();
  #isBroken = false;

  /** @param changes one counter (4 bytes) that all threads of the host share; @param failed is told why nothing can be counted */
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

  /** @throws {KeyHeldBack} before anything is compared for the key */
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

  /** Counts what was wrong; it is on the disk when this returns. @throws {Error} where it cannot be written: then nothing is compared any more */
  count(id: KeyId, wrong: number): void {
    try {
      this.#count.run({ id, now: Date.now(), more: wrong * this.#limit.intervalMs });
    } catch (error) {
      this.#isBroken = true;
      const reason = `wrong secrets cannot be counted: ${error instanceof Error ? error.message : String(error)}`;
      this.#failed(reason);
      throw new Error(reason, { cause: error });
    }
    Atomics.add(this.#changes, 0, 1);
  }

  /** A key is held back while its bucket lacks more than all but one. */
  #read(changes: number): void {
    const now = Date.now();
    const allButOneMs = (this.#limit.atOnce - 1) * this.#limit.intervalMs;
    this.#heldBack.clear();
    for (const { key_id: id, full_at: fullAt } of this.#list.all(now + allButOneMs))
      this.#heldBack.set(String(id), Number(fullAt) - allButOneMs);
    this.#known = changes;
  }
}

/** Run by the host before its threads: makes the table, and forgets what is over. @throws {Error} where the file cannot be written */
export function prepareWrongSecrets(directory: string, { atOnce, intervalMs }: WrongSecretLimit): void {
  const database = openDatabase(directory);
  try {
    database.exec('CREATE TABLE IF NOT EXISTS wrong_secrets (key_id TEXT PRIMARY KEY, full_at INTEGER NOT NULL) STRICT, WITHOUT ROWID');
    const now = Date.now();
    database.prepare('DELETE FROM wrong_secrets WHERE full_at <= ?').run(now);
    // A clock that was ahead for a while must not keep a key from its owner for as long.
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

/** A one-time password that is open: that a given secret is none says nothing, since most are not. */
const isOtp = (kind: SecretKind): boolean => kind === 'OTP_SIGN' || kind === 'OTP_CHANGE_PASSWORD' || kind === 'OTP_REVOKE';

/**
 * The place of the candidate that is answered as the right one. One-time passwords go first: beside one that is right the answer tells nothing of a password,
 * so that a right secret of one's own is no cover for guesses. Of others, the first.
 */
export function answeredCandidate(anyOf: readonly Candidate[], verdicts: readonly boolean[]): number | undefined {
  const otp = verdicts.findIndex((isRight, place) => isRight && isOtp(anyOf[place]?.kind ?? 'PASSWORD'));
  const by = otp === -1 ? verdicts.indexOf(true) : otp;
  return by === -1 ? undefined : by;
}

/**
 * How many wrong secrets an answer tells of. Candidates of different kinds are one secret, compared with all that it may be; several of one kind are
 * guesses. Where one was right, those before it were told to be wrong; that a password is no one-time password is no failure.
 */
export function toldWrong(anyOf: readonly Candidate[], by: number | undefined): number {
  const told =
    by === undefined
      ? anyOf
      : isOtp(anyOf[by]?.kind ?? 'PASSWORD')
        ? anyOf.filter(({ kind }, place) => isOtp(kind) && place < by)
        : anyOf.slice(0, by).filter(({ kind }) => !isOtp(kind));
  const ofKind = new Map<SecretKind, number>();
  for (const { kind } of told) ofKind.set(kind, (ofKind.get(kind) ?? 0) + 1);
  return Math.max(by === undefined ? 1 : 0, ...ofKind.values());
}
