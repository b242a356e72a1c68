import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { ConfigError } from '../config/config.ts';
import type { StateStore } from '../state/state-store.ts';
import type { Logger } from '../telemetry/log.ts';
import type { TokenMacKey } from '../token/token.ts';

/** The token as the key for secrets needs it. */
export interface MacKeyToken {
  readonly macKey: TokenMacKey;
  /** No host is used from now on that does not have the key that is known by this. */
  expectMacKey(check: Uint8Array): void;
}

export interface MacKeyOptions {
  /** The token's label, for what is said to an operator. */
  readonly label: string;
  /** Longer than any request to the token takes: whoever has held the right to make the key for so long went down with it. */
  readonly claimMs: number;
  readonly log: Logger;
}

const pollMs = 100;

/**
 * Sees to it that token and state store belong together: the store keeps what the token's key for secrets is known by, and with another key every
 * right secret would be wrong, and count as a failed attempt. Where neither has any, one instance makes the key.
 * @throws {ConfigError} where they do not belong together: a sentence for the operator
 */
export async function establishMacKey(store: StateStore, token: MacKeyToken, options: MacKeyOptions): Promise<void> {
  const check = (await store.run('findMacKeyCheck')) ?? (await firstCheck(store, token, options));
  token.expectMacKey(check);
  const found = await token.macKey.check();
  if (found === undefined) throw new ConfigError(`${lacks(options.label)}, and this state store was used with one. ${whatToDo}`);
  if (Buffer.from(found).equals(check)) return;
  throw new ConfigError(
    `the token "${options.label}" has another key for secrets (MAC key) than the one that this state store was used with. ${whatToDo}`,
  );
}

/** Of instances that start at once with an empty store, one looks at the token at a time, and the first makes the key or takes the one that is there. */
async function firstCheck(store: StateStore, { macKey }: MacKeyToken, { label, claimMs, log }: MacKeyOptions): Promise<Uint8Array> {
  const claim = randomUUID();
  for (;;) {
    const now = store.now();
    // A store that is not shared has no other claimants than those that died.
    const freeBefore = store.isShared ? now : Number.MAX_SAFE_INTEGER;
    if (await store.run('claimMacKey', { claim, until: now + claimMs, freeBefore })) {
      try {
        const found = await macKey.check();
        if (found === undefined) await checkNothingIsLost(store, label);
        const check = found ?? (await macKey.make());
        if (await store.run('keepMacKeyCheck', { claim, check })) {
          log.info(
            found === undefined
              ? 'made the key for secrets on the token'
              : 'the key for secrets on the token is the one of this state store',
          );
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

/** @throws {ConfigError} */
async function checkNothingIsLost(store: StateStore, label: string): Promise<void> {
  const secrets = await store.run('countSecrets');
  if (secrets === 0) return;
  throw new ConfigError(`${lacks(label)}, and this state store has ${secrets} keys with secrets that were made with one. ${whatToDo}`);
}

function lacks(label: string): string {
  return `the token "${label}" has no key for secrets (MAC key)`;
}

const whatToDo =
  'Every password, one-time password and authToken would be wrong, so nothing was changed and signetd does not start. ' +
  'See that token.label names the right token or partition, that a replica of it is complete, and that the state store is the one that belongs to it; ' +
  'where the token was erased, restore it from its backup (docs/tokens.md, "The key for secrets")';
