import { readFileSync, statSync } from 'node:fs';
import type { CryptoKey } from 'jose';
import type { Logger } from '../../telemetry/log.ts';
import { reasonOf } from '../../telemetry/reason-of.ts';
import type { KeySet, WantedKey } from './key-set.ts';

/** Thrown if the keys are not available: the message gives the reason, for the log. */
export class KeysUnavailable extends Error {}

/** Source of a provider's public keys. */
export interface ProviderKeys {
  /** Finds a key; undefined if the provider has no such key. @throws {KeysUnavailable} */
  find(wanted: WantedKey): Promise<CryptoKey | undefined>;
}

type ReadKeySet = (document: Buffer) => KeySet;

/**
 * A key set in a file, which is read again when it has changed. An invalid one is logged, and the
 * last valid one stays in use.
 */
export class FileKeys implements ProviderKeys {
  readonly #path: string;
  readonly #read: ReadKeySet;
  readonly #log: Logger;
  #keys: KeySet;
  #version: string;

  /** @throws {Error} if the file does not contain a key set */
  constructor(path: string, read: ReadKeySet, log: Logger) {
    this.#path = path;
    this.#read = read;
    this.#log = log;
    this.#version = versionOf(path);
    this.#keys = read(readFileSync(path));
  }

  async find(wanted: WantedKey): Promise<CryptoKey | undefined> {
    this.#bringUpToDate();
    return this.#keys.find(wanted);
  }

  #bringUpToDate(): void {
    try {
      const version = versionOf(this.#path);
      if (version === this.#version) return;
      this.#version = version;
      this.#keys = this.#read(readFileSync(this.#path));
    } catch (error) {
      this.#log.warn('cannot read the key set of an identity provider; using the last valid one', {
        file: this.#path,
        reason: textOf(error),
      });
    }
  }
}

function versionOf(path: string): string {
  const { ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true });
  return [ino, size, mtimeNs, ctimeNs].join(' ');
}

export interface KeySource {
  readonly url: string;
  /** Identifies the source of the keys: if a reload leaves it unchanged, the keys are kept. */
  readonly source: string;
  readonly fetch: () => Promise<Buffer>;
  readonly read: ReadKeySet;
  readonly log: Logger;
}

export interface FetchTimes {
  readonly freshSeconds: number;
  readonly keptSeconds: number;
  readonly cooldownSeconds: number;
}

/** Delay after a failed fetch. */
const retrySeconds = 5;

/**
 * A key set that is fetched: cached while it is fresh, then refreshed in the background, and
 * fetched at once for an unknown key, since providers rotate their keys; unknown keys named by
 * strangers cause at most one fetch in a while.
 *
 * jose's `createRemoteJWKSet` does less: it does not use old keys while the provider is
 * unavailable, makes requests wait for each refresh, and counts its pauses from the last successful
 * fetch, by a clock that may be set back.
 */
export class FetchedKeys implements ProviderKeys {
  /** As `KeySource.source`. */
  readonly source: string;
  readonly #fetch: () => Promise<Buffer>;
  readonly #read: ReadKeySet;
  readonly #times: FetchTimes;
  readonly #log: Logger;
  readonly #url: string;
  readonly #nowSeconds: () => number;
  #keys: { readonly set: KeySet; readonly since: number } | undefined;
  #failedAt = -Infinity;
  #askedForUnknownAt = -Infinity;
  #fetching: Promise<void> | undefined;

  /** `nowSeconds`: a monotonic clock. */
  constructor({ url, source, fetch, read, log }: KeySource, times: FetchTimes, nowSeconds: () => number = () => performance.now() / 1000) {
    this.#url = url;
    this.source = source;
    this.#fetch = fetch;
    this.#read = read;
    this.#log = log;
    this.#times = times;
    this.#nowSeconds = nowSeconds;
  }

  async find(wanted: WantedKey): Promise<CryptoKey | undefined> {
    const found = await (await this.#current()).find(wanted);
    if (found !== undefined) return found;
    const now = this.#nowSeconds();
    // Concurrent callers wait for the same fetch.
    if (this.#fetching === undefined) {
      if (now - this.#askedForUnknownAt < this.#times.cooldownSeconds) return undefined;
      this.#askedForUnknownAt = now;
    }
    await this.#refresh();
    return this.#keys?.set.find(wanted);
  }

  /** Returns the current key set. @throws {KeysUnavailable} */
  async #current(): Promise<KeySet> {
    const { freshSeconds, keptSeconds } = this.#times;
    const now = this.#nowSeconds();
    const mayTry = now - this.#failedAt >= retrySeconds;
    const age = now - (this.#keys?.since ?? -Infinity);
    if (age > keptSeconds) {
      if (mayTry) await this.#refresh();
    } else if (age > freshSeconds && mayTry) {
      void this.#refresh();
    }
    if (this.#keys === undefined || this.#nowSeconds() - this.#keys.since > keptSeconds) {
      throw new KeysUnavailable('the key set of the identity provider could not be fetched');
    }
    return this.#keys.set;
  }

  /** Fetches once for all waiting callers; never fails, since the previous set stays in use. */
  async #refresh(): Promise<void> {
    this.#fetching ??= this.#fetchKeys().finally(() => {
      this.#fetching = undefined;
    });
    await this.#fetching;
  }

  async #fetchKeys(): Promise<void> {
    try {
      const set = this.#read(await this.#fetch());
      this.#keys = { set, since: this.#nowSeconds() };
    } catch (error) {
      this.#failedAt = this.#nowSeconds();
      this.#log.warn('cannot fetch the key set of an identity provider', { url: this.#url, reason: textOf(error) });
    }
  }
}

function textOf(error: unknown): string {
  return reasonOf(error).slice(0, 500);
}
