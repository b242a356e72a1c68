import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { ConfigError } from '../config/config-error.ts';
import type { StoredMacKey } from '../state/repositories/mac-generations.ts';
import type { StateStore } from '../state/state-store.ts';
import type { Logger } from '../telemetry/log.ts';
import { reasonOf } from '../telemetry/reason-of.ts';
import type { TokenMacKey } from '../token/token.ts';

/** The functions of the token that the MAC keys need. */
export interface MacKeyToken {
  readonly macKey: TokenMacKey;
  /**
   * From now on, makes new MACs with the MAC key of this number, and only uses hosts whose key has
   * this check value.
   */
  expectMacKey(check: Uint8Array, generation: number): void;
}

export interface MacKeyOptions {
  /** Label of the token, for messages to the operator. */
  readonly label: string;
  /**
   * Longer than any request to the token takes: an instance that has held the claim for longer is
   * gone.
   */
  readonly claimMs: number;
  readonly log: Logger;
}

const pollMs = 100;
/**
 * Time within which a key that one process made is visible to all others: clusters of HSMs may show
 * it late.
 */
const visibleMs = 2000;

/**
 * Ensures that the token and the state store belong together. The store keeps a check value of the
 * token's MAC key: with another key, every right secret would be wrong and count as a failed
 * attempt. If neither has one, one instance makes the key.
 * @throws {ConfigError} if they do not belong together; the message is for the operator
 */
export async function establishMacKey(store: StateStore, token: MacKeyToken, options: MacKeyOptions): Promise<MacKeyInForce> {
  let known = await usable(store);
  if (known.length === 0) {
    await firstCheck(store, token, options);
    known = await usable(store);
  }
  const current = known.at(-1);
  if (current === undefined) throw new Error('a MAC key was made');
  token.expectMacKey(current.check, current.generation);
  for (const { generation, check } of known) await checkIsThere(store, token, { label: options.label, generation, check });
  const inForce = new MacKeyInForce(store, token, options.log, known[0]?.generation);
  inForce.use(current);
  return inForce;
}

/** Returns the MAC keys that secrets in the store may need, the current one last. */
async function usable(store: StateStore): Promise<StoredMacKey[]> {
  return (await store.run('listMacKeys')).filter(({ destroyedAt }) => destroyedAt === null);
}

/** @throws {ConfigError} */
async function checkIsThere(
  store: StateStore,
  { macKey }: MacKeyToken,
  { label, generation, check }: { readonly label: string; readonly generation: number; readonly check: Uint8Array },
): Promise<void> {
  const found = await checkOf(macKey, store, generation);
  const which = generation === 0 ? '' : ` number ${generation}`;
  if (found === undefined) throw new ConfigError(`${lacks(label)}${which}, and this state store was used with one. ${whatToDo}`);
  if (Buffer.from(found).equals(check)) return;
  throw new ConfigError(
    `the token "${label}" has a different MAC key${which} from the one that this state store was used with. ${whatToDo}`,
  );
}

/**
 * The MAC key that new secrets are made with. An operator may replace it while the service works.
 */
export class MacKeyInForce {
  readonly #store: StateStore;
  readonly #token: MacKeyToken;
  readonly #log: Logger;
  /** Number of the oldest MAC key that was there at the start. */
  readonly oldest: number;
  #generation = 0;

  constructor(store: StateStore, token: MacKeyToken, log: Logger, oldest = 0) {
    this.oldest = oldest;
    this.#store = store;
    this.#token = token;
    this.#log = log;
    store.onChange((change) => {
      if (change === 'everything' || change.table === 'mac_key') this.#follow();
    });
  }

  /** Its number. */
  get generation(): number {
    return this.#generation;
  }

  use({ generation, check }: Pick<StoredMacKey, 'generation' | 'check'>): void {
    this.#token.expectMacKey(check, generation);
    this.#generation = generation;
  }

  /**
   * Makes the next MAC key. Repeated after a kill, it uses the key that was made then.
   * @returns its number
   */
  async rotate(): Promise<number> {
    const generation = this.#generation + 1;
    const check = await this.#token.macKey.make(generation);
    await this.#store.run('addMacKey', { generation, check });
    await this.#takeNewest();
    this.#log.info('made another MAC key on the token; new secrets are made with it', { generation: this.#generation });
    return this.#generation;
  }

  /** Another instance has made a key, or destroyed one. */
  #follow(): void {
    this.#takeNewest().catch((error: unknown) => {
      this.#log.error('the new MAC key cannot be used yet; new secrets are made with the one before', { reason: reasonOf(error) });
    });
  }

  async #takeNewest(): Promise<void> {
    const newest = (await usable(this.#store)).at(-1);
    if (newest === undefined || newest.generation <= this.#generation) return;
    // Clusters of HSMs may show it late.
    const found = await checkOf(this.#token.macKey, this.#store, newest.generation);
    if (found === undefined) throw new Error(`the token does not show MAC key number ${newest.generation}`);
    if (!Buffer.from(found).equals(newest.check)) throw new Error(`MAC key number ${newest.generation} is not the one of the state store`);
    if (newest.generation > this.#generation) this.use(newest);
  }
}

/**
 * Finds or makes the MAC key for an empty store. Of instances that start at the same time, one at a
 * time looks at the token, and the first makes the key or uses the existing one.
 */
async function firstCheck(store: StateStore, { macKey }: MacKeyToken, { label, claimMs, log }: MacKeyOptions): Promise<Uint8Array> {
  const claim = randomUUID();
  for (;;) {
    const now = store.now();
    // If the store is not shared, any other claim is left from a process that is gone.
    const freeBefore = store.isShared ? now : Number.MAX_SAFE_INTEGER;
    if (await store.run('claimMacKey', { claim, until: now + claimMs, freeBefore })) {
      try {
        const found = await macKey.check();
        if (found === undefined) await checkNothingIsLost(store, label);
        const check = found ?? (await macKey.make());
        if (await store.run('keepMacKeyCheck', { claim, check })) {
          log.info(found === undefined ? 'created the MAC key on the token' : 'adopted the MAC key that is on the token');
          return check;
        }
      } catch (error) {
        await store.run('releaseMacKey', claim).catch(() => undefined);
        throw error;
      }
    }
    const [known] = await store.run('listMacKeys');
    if (known !== undefined) return known.check;
    await delay(pollMs);
  }
}

/**
 * Returns the check value of the token's MAC key; another instance may have made the key just now.
 */
async function checkOf(macKey: TokenMacKey, store: StateStore, generation: number): Promise<Uint8Array | undefined> {
  const attempts = store.isShared ? visibleMs / pollMs : 1;
  for (let attempt = 1; ; attempt += 1) {
    const found = await macKey.check(generation);
    if (found !== undefined || attempt >= attempts) return found;
    await delay(pollMs);
  }
}

/** Checks that the store has no secrets made with a MAC key that is gone. @throws {ConfigError} */
async function checkNothingIsLost(store: StateStore, label: string): Promise<void> {
  const secrets = await store.run('countSecrets');
  if (secrets === 0) return;
  throw new ConfigError(`${lacks(label)}, and this state store has ${secrets} keys with secrets that were made with one. ${whatToDo}`);
}

function lacks(label: string): string {
  return `the token "${label}" has no MAC key`;
}

const whatToDo =
  'Every password, one-time password and authToken would be wrong, so signetd does not start. Nothing was changed. ' +
  'Check that token.label names the right token or partition, that a replica is complete, and that the state store belongs to this token; ' +
  'if the token was erased, restore it from its backup (docs/tokens.md, "The MAC key")';
