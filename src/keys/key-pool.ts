import type { KeyType } from '../config/profile.ts';
import type { StateStore } from '../state/state-store.ts';
import type { KeyPoolRow } from '../state/tables/token-keys.ts';
import type { Logger } from '../telemetry/log.ts';
import { newKeyId, parseKeyId, type KeyId } from '../token/key-id.ts';
import type { KeyJournal } from '../token/key-journal.ts';
import { TokenUnavailable, type Token } from '../token/token.ts';
import type { KeyCustody } from './custody.ts';
import type { Destruction } from './destruction.ts';
import { mostWanted, PoolLevels } from './pool-levels.ts';
import { sealPooled, type Seals } from './seals.ts';

export interface PoolOptions {
  /** How many keys of each type are held ready. */
  targets(): ReadonlyMap<KeyType, number>;
  /** Whether requests wait for the token. */
  isTokenBusy(): boolean;
  /** Told whenever a level is known anew. */
  levelIs(type: KeyType, keys: number): void;
  /** Told of each key that is wanted: whether one was ready. */
  wanted(type: KeyType, wasReady: boolean): void;
  readonly log: Logger;
  /** How long after the start the first key is made. */
  readonly startPauseMs?: number;
}

interface Rooms {
  readonly store: StateStore;
  readonly token: Pick<Token, 'makeMac'>;
  readonly seals: Pick<Seals, 'isPooledRight'>;
  readonly custody: KeyCustody;
  readonly journal: KeyJournal;
  readonly destruction: Destruction;
}

/** The token is at rest when nobody has signed for so long. */
const idleMs = 200;
/** A service that starts has other things to do first. */
const startPauseMs = 2000;
const pollMs = 1000;
const pauseAfterFaultMs = 5000;
const warnEveryMs = 60_000;

/**
 * Keys that are made ahead on the token, in the time that it has, and wait in the state store over restarts. Each is handed out once: the store
 * gives it to one taker, and the token itself marks it as handed out, so that even a copy of the store from yesterday gives it to nobody else. A
 * crash on the way destroys it.
 */
export class KeyPool {
  readonly #rooms: Rooms;
  readonly #options: PoolOptions;
  readonly #levels: PoolLevels;
  #lastUseMs = -Infinity;
  #warnedMs = -Infinity;
  /** Callers for whom a key is being made at this moment. */
  #callersMaking = 0;
  #isRunning = false;
  #isUnmarkable = false;
  #wake: (() => void) | undefined;

  constructor(rooms: Rooms, options: PoolOptions) {
    this.#rooms = rooms;
    this.#options = options;
    this.#levels = new PoolLevels(rooms.store, options);
  }

  /** Somebody signs: refilling can wait. */
  noteUse(): void {
    this.#lastUseMs = performance.now();
  }

  /** A key that is ready, announced to the journal as one that is being made; undefined where there is none. */
  async take(type: KeyType): Promise<{ id: KeyId; publicKeyInfo: Uint8Array } | undefined> {
    if ((this.#options.targets().get(type) ?? 0) === 0) return undefined;
    this.noteUse();
    for (;;) {
      const row = await this.#rooms.store.run('takeFromPool', { keyType: type, now: this.#rooms.store.now() });
      this.#levels.took(type, row !== undefined);
      this.#wake?.();
      if (row === undefined) {
        this.#options.wanted(type, false);
        this.#warnOfEmptiness(type);
        return undefined;
      }
      if (!(await this.#isRight(row))) continue;
      const id = parseKeyId(row.key_id);
      if (!(await this.#claim(id, row))) continue;
      this.#options.wanted(type, true);
      return { id, publicKeyInfo: row.public_key };
    }
  }

  /** Makes a key for a caller who found none ready. The pool waits meanwhile: it would only take the token's time. */
  async makingForCaller<T>(make: () => Promise<T>): Promise<T> {
    this.#callersMaking += 1;
    try {
      return await make();
    } finally {
      this.#callersMaking -= 1;
    }
  }

  /** Begins to refill, and goes on until `stop`. */
  start(): void {
    this.#isRunning = true;
    this.noteUse();
    void this.#refill();
  }

  /** A key that is being made is finished or undone by the next start. */
  stop(): void {
    this.#isRunning = false;
    this.#wake?.();
  }

  /** One that is not as it was made may have another's identifier, or somebody's own public key: nothing is done with either. */
  async #isRight(row: KeyPoolRow): Promise<boolean> {
    const { seals, store } = this.#rooms;
    try {
      if (await seals.isPooledRight(row)) return true;
    } catch (error) {
      await store.run('fillPool', row).catch(() => undefined);
      throw error;
    }
    await store.run('finishStep', row.key_id);
    return false;
  }

  async #claim(id: KeyId, row: KeyPoolRow): Promise<boolean> {
    const { custody, journal, destruction, store } = this.#rooms;
    try {
      const outcome = await custody.claim(id);
      if (outcome === 'claimed') return true;
      if (outcome === 'unmarkable') {
        this.#giveUp();
        await destruction.undoCreation(id);
      } else {
        // The store is older than the token: the key is another's, or was destroyed. It is not ours to touch.
        this.#options.log.error('a key of the pool was handed out before: the state store is an old copy', { key: id, outcome });
        await journal.settle(id);
      }
      return false;
    } catch (error) {
      // Unless it never left, the claim may have been carried out, and then nobody can have the key any more: the token keeps to the first.
      if (error instanceof TokenUnavailable && error.nothingDone) await store.run('fillPool', row).catch(() => undefined);
      else await destruction.undoCreation(id);
      throw error;
    }
  }

  #giveUp(): void {
    if (this.#isUnmarkable) return;
    this.#isUnmarkable = true;
    this.#options.log.error('this token lets no key be marked, so keys cannot be made ahead: set keyPool.keys to 0');
  }

  async #refill(): Promise<void> {
    await this.#pause(this.#options.startPauseMs ?? startPauseMs);
    while (this.#isRunning && !this.#isUnmarkable) {
      let pauseMs = pollMs;
      try {
        const type = mostWanted(
          await this.#levels.read(),
          this.#options.targets(),
          this.#isAtRest() ? undefined : this.#levels.askedLately(),
        );
        if (type !== undefined && this.#callersMaking === 0 && !this.#options.isTokenBusy()) {
          await this.#makeOne(type);
          pauseMs = 0;
        } else if (type !== undefined) {
          pauseMs = idleMs;
        }
      } catch (error) {
        if (!this.#isRunning) return;
        this.#options.log.warn('no key could be made ahead', { reason: error instanceof Error ? error.message : String(error) });
        pauseMs = pauseAfterFaultMs;
      }
      if (pauseMs > 0) await this.#pause(pauseMs);
    }
  }

  #isAtRest(): boolean {
    return performance.now() - this.#lastUseMs > idleMs;
  }

  async #makeOne(type: KeyType): Promise<void> {
    const { token, custody, journal, destruction, store } = this.#rooms;
    const id = newKeyId('caller');
    await journal.announce(id, 'CREATE');
    try {
      const publicKey = await custody.create(id, type);
      const row = { key_id: id, key_type: type, public_key: publicKey, created_at: store.now() };
      await store.run('fillPool', { ...row, ...(await sealPooled(token, id, row)) });
    } catch (error) {
      await destruction.undoCreation(id);
      throw error;
    }
  }

  async #pause(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms).unref();
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = undefined;
  }

  #warnOfEmptiness(type: KeyType): void {
    if (performance.now() - this.#warnedMs < warnEveryMs) return;
    this.#warnedMs = performance.now();
    this.#options.log.warn('no key was ready, so a caller waits while one is made; if this repeats, raise keyPool.keys', { type });
  }
}
