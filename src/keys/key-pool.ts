import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { KeyType } from '../config/key-types.ts';
import type { StateStore } from '../state/state-store.ts';
import type { KeyPoolRow } from '../state/tables/token-keys.ts';
import type { Logger } from '../telemetry/log.ts';
import { reasonOf } from '../telemetry/reason-of.ts';
import { newKeyId, parseKeyId, type KeyId } from '../token/key-id.ts';
import type { KeyJournal } from '../token/key-journal.ts';
import { TokenFull, TokenUnavailable, type Token } from '../token/token.ts';
import type { Destruction } from './destruction.ts';
import { mostWanted, PoolLevels } from './pool-levels.ts';
import { leaveRoom } from './pool-room.ts';
import { sealPooled, type Seals } from './seals.ts';

export interface PoolOptions {
  /** Number of keys of each type to hold ready. */
  targets(): ReadonlyMap<KeyType, number>;
  /** Checks whether requests wait for the token. */
  isTokenBusy(): boolean;
  /** Called when the level of a type is known anew. */
  levelIs(type: KeyType, keys: number): void;
  /** Called for each key that is requested, with whether one was ready. */
  wanted(type: KeyType, wasReady: boolean): void;
  readonly log: Logger;
  /** Delay between the start and the first key. */
  readonly startPauseMs?: number;
  /** Pause after the token has had no room for a key. */
  readonly fullPauseMs?: number;
  /** How long after the start it is no fault that a type has not had a key yet. */
  readonly firstKeysMaxMs?: number;
}

interface Rooms {
  readonly store: StateStore;
  readonly token: Pick<Token, 'createKey' | 'claimKey' | 'makeMac'>;
  readonly seals: Pick<Seals, 'isPooledRight'>;
  readonly journal: KeyJournal;
  readonly destruction: Destruction;
}

/** The token is idle if nothing has been signed for this long. */
const idleMs = 200;
/** Other work has priority while the service starts. */
const startPauseMs = 2000;
const pollMs = 1000;
const pauseAfterFaultMs = 5000;
/** Only an operator, or callers who remove keys, make room on a full token. */
const fullPauseMs = 10 * 60_000;
const tellEveryMs = 60_000;
/** Enough to generate an RSA key of each type. */
const firstKeysMaxMs = 120_000;
/** Far more than a MAC takes, and less than a stop may. */
const sealMaxMs = 5000;

/**
 * Keeps keys that are made in advance while the token is idle; they wait in the state store across
 * restarts. Each key is handed out once: the store gives it to one taker, and the token itself
 * marks it as handed out, so that even an old copy of the store cannot hand it out again. If a
 * crash interrupts this, the key is destroyed.
 */
export class KeyPool {
  readonly #rooms: Rooms;
  readonly #options: PoolOptions;
  readonly #levels: PoolLevels;
  #lastUseMs = -Infinity;
  #startedMs = performance.now();
  readonly #toldMs = { info: -Infinity, warn: -Infinity };
  /** Number of callers for whom a key is being made now. */
  #callersMaking = 0;
  #isRunning = false;
  #isUnmarkable = false;
  #wake: (() => void) | undefined;
  #sealing: Promise<unknown> | undefined;

  constructor(rooms: Rooms, options: PoolOptions) {
    this.#rooms = rooms;
    this.#options = options;
    this.#levels = new PoolLevels(rooms.store, options);
  }

  /** Notes that the token is in use, so that refilling waits. */
  noteUse(): void {
    this.#lastUseMs = performance.now();
  }

  /**
   * Takes a key that is ready and announces it in the journal as being created; undefined if none
   * is ready.
   */
  async take(type: KeyType): Promise<{ id: KeyId; publicKeyInfo: Uint8Array } | undefined> {
    if ((this.#options.targets().get(type) ?? 0) === 0) return undefined;
    this.noteUse();
    for (;;) {
      const row = await this.#rooms.store.run('takeFromPool', { keyType: type, now: this.#rooms.store.now() });
      this.#levels.took(type, row !== undefined);
      this.#wake?.();
      if (row === undefined) {
        this.#options.wanted(type, false);
        this.#tellOfEmptiness(type);
        return undefined;
      }
      if (!(await this.#isRight(row))) continue;
      const id = parseKeyId(row.key_id);
      if (!(await this.#claim(id, row))) continue;
      this.#options.wanted(type, true);
      return { id, publicKeyInfo: row.public_key };
    }
  }

  /**
   * Makes a key for a caller who found none ready. The pool waits meanwhile, since it would compete
   * for the token.
   */
  async makingForCaller<T>(make: () => Promise<T>): Promise<T> {
    this.#callersMaking += 1;
    try {
      return await make();
    } finally {
      this.#callersMaking -= 1;
    }
  }

  /** Starts refilling, until `stop`. */
  start(): void {
    this.#isRunning = true;
    this.#startedMs = performance.now();
    this.noteUse();
    void this.#refill();
  }

  /**
   * Stops refilling. Resolves once no further MAC will be made for a seal, or after five seconds if
   * the token does not answer. A key that is being made is destroyed by `Destruction.recover` or a
   * sweep.
   */
  async stop(): Promise<void> {
    this.#isRunning = false;
    this.#wake?.();
    await Promise.race([Promise.allSettled([this.#sealing]), delay(sealMaxMs, undefined, { ref: false })]);
  }

  /**
   * Checks that a pooled key is as it was made. A changed row may carry the identifier of another
   * key, or a foreign public key; neither is used.
   */
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
    const { token, journal, destruction, store } = this.#rooms;
    try {
      const outcome = await token.claimKey(id, randomBytes(16).toString('hex'));
      if (outcome === 'claimed') return true;
      if (outcome === 'unmarkable') {
        this.#giveUp();
        await destruction.undoCreation(id);
      } else {
        // The store is older than the token: the key belongs to somebody else or was destroyed. Do
        // not touch it.
        this.#options.log.error('a pooled key was already handed out: the state store is an old copy', { key: id, outcome });
        await journal.settle(id);
      }
      return false;
    } catch (error) {
      // Unless the request was never sent, the claim may have been carried out. Nobody can use the
      // key then, since the token keeps the first claim.
      if (error instanceof TokenUnavailable && error.nothingDone) await store.run('fillPool', row).catch(() => undefined);
      else await destruction.undoCreation(id);
      throw error;
    }
  }

  #giveUp(): void {
    if (this.#isUnmarkable) return;
    this.#isUnmarkable = true;
    this.#options.log.error('this token cannot mark keys as handed out, so no keys can be made in advance: set keyPool.keys to 0');
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
        if (!this.#isRunning) return;
        if (type !== undefined && this.#callersMaking === 0 && !this.#options.isTokenBusy()) {
          await this.#makeOne(type);
          pauseMs = 0;
        } else if (type !== undefined) {
          pauseMs = idleMs;
        }
      } catch (error) {
        if (!this.#isRunning) return;
        this.#options.log.warn('cannot make a key in advance', { reason: reasonOf(error) });
        pauseMs = error instanceof TokenFull ? await this.#pauseWhenFull() : pauseAfterFaultMs;
      }
      if (pauseMs > 0) await this.#pause(pauseMs);
    }
  }

  async #pauseWhenFull(): Promise<number> {
    const keys = await leaveRoom(this.#rooms, this.#options.targets().keys()).catch(() => 0);
    if (keys > 0)
      this.#options.log.warn('the token is full: keys made in advance were destroyed, to leave room for those of the service', { keys });
    return this.#options.fullPauseMs ?? fullPauseMs;
  }

  #isAtRest(): boolean {
    return performance.now() - this.#lastUseMs > idleMs;
  }

  async #makeOne(type: KeyType): Promise<void> {
    const { token, journal, destruction, store } = this.#rooms;
    const id = newKeyId('caller');
    await journal.announce(id, 'CREATE');
    try {
      const publicKey = await token.createKey(id, type);
      // The MAC of a seal needs an audit record, and the audit log may be closed by now.
      if (!this.#isRunning) return;
      const row = { key_id: id, key_type: type, public_key: publicKey, created_at: store.now() };
      const sealing = sealPooled(token, id, row);
      this.#sealing = sealing;
      await store.run('fillPool', { ...row, ...(await sealing) });
    } catch (error) {
      if (this.#isRunning) await destruction.undoCreation(id);
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

  /** Logs that a caller waits; a warning, unless the pool cannot have a key yet. */
  #tellOfEmptiness(type: KeyType): void {
    const now = performance.now();
    const isStart = !this.#levels.hadKeys(type) && now - this.#startedMs < (this.#options.firstKeysMaxMs ?? firstKeysMaxMs);
    const level = isStart ? 'info' : 'warn';
    if (now - this.#toldMs[level] < tellEveryMs) return;
    this.#toldMs[level] = now;
    this.#options.log[level](
      isStart
        ? 'the first keys are still being made in advance, so the caller waits while one is made'
        : 'no key was ready, so the caller waits while one is made; if this happens often, raise keyPool.keys',
      { type },
    );
  }
}
