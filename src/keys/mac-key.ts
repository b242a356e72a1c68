import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { ConfigError } from '../config/config-error.ts';
import type { StateStore } from '../state/state-store.ts';
import type { Logger } from '../telemetry/log.ts';
import type { TokenMacKey } from '../token/token.ts';

/** The functions of the token that the MAC key needs. */
export interface MacKeyToken {
  readonly macKey: TokenMacKey;
  /** From now on, only uses hosts whose MAC key has this check value. */
  expectMacKey(check: Uint8Array): void;
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
export async function establishMacKey(store: StateStore, token: MacKeyToken, options: MacKeyOptions): Promise<void> {
  const check = (await store.run('findMacKeyCheck')) ?? (await firstCheck(store, token, options));
  token.expectMacKey(check);
  const found = await checkOf(token.macKey, store);
  if (found === undefined) throw new ConfigError(`${lacks(options.label)}, and this state store was used with one. ${whatToDo}`);
  if (Buffer.from(found).equals(check)) return;
  throw new ConfigError(
    `the token "${options.label}" has a different MAC key from the one that this state store was used with. ${whatToDo}`,
  );
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
    const known = await store.run('findMacKeyCheck');
    if (known !== undefined) return known;
    await delay(pollMs);
  }
}

/**
 * Returns the check value of the token's MAC key; another instance may have made the key just now.
 */
async function checkOf(macKey: TokenMacKey, store: StateStore): Promise<Uint8Array | undefined> {
  const attempts = store.isShared ? visibleMs / pollMs : 1;
  for (let attempt = 1; ; attempt += 1) {
    const found = await macKey.check();
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
