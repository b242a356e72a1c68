import { hash, timingSafeEqual } from 'node:crypto';
import type { GivenSecret } from './credentials.ts';
import type { ActivatableKey } from './key-record.ts';

/*
 * Secrets with 256 random bits: activation data, and the authTokens of single-use keys. Nobody
 * guesses them, so a wrong one is no attack on the key that needs a lock, while the lock itself would
 * be one. Their hashes are in the state store, where they help nobody to find the secrets; with them
 * the daemon refuses a wrong one, before the token is asked or an attempt of the key is counted.
 */

const usedMax = 10_000;
const idBytes = 16;

/**
 * Returns the identifier of activation data, hexadecimal: 124 bits of a hash of its secret. Its
 * version (RFC 9562 §4.2) is 0, which no identifier of earlier versions has: those are random UUIDs.
 */
export function dataIdOf(secret: Uint8Array): string {
  const id = hash('sha256', Buffer.concat([Buffer.from('signetd activation data\0'), secret]), 'buffer').subarray(0, idBytes);
  id[6] = (id[6] ?? 0) & 0x0f;
  return id.toString('hex');
}

function isHashOfSecret(id: string): boolean {
  return id[12] === '0';
}

/**
 * Returns the hash that is stored with the MAC of an authToken: SHA-256 of a text of its own and the
 * secret, so that it is the hash of nothing else.
 */
export function authTokenHash(secret: Uint8Array): Uint8Array {
  return hash('sha256', Buffer.concat([Buffer.from('signetd authToken\0'), secret]), 'buffer');
}

/**
 * Whether a wrong secret is a failed attempt of the key, which may lock it. An authToken that has
 * the right hash was refused for the transaction beside it, which may be guessed.
 */
export function countsForKey({ secret }: Pick<ActivatableKey, 'secret'>, { member }: Pick<GivenSecret, 'member'>): boolean {
  return member !== 'sad' && (member !== 'authToken' || secret?.hash !== undefined);
}

/** Tells long secrets that cannot be right, and those that were used before. */
export class LongSecrets {
  /** Identifiers of activation data that this instance has used up, oldest first. */
  readonly #used = new Set<string>();

  /** Whether the secret cannot be that of the key. False for secrets that people may guess. */
  isWrong({ secret: own }: Pick<ActivatableKey, 'secret'>, { member, bytes, data }: GivenSecret): boolean {
    if (member === 'authToken') return own?.hash !== undefined && !timingSafeEqual(own.hash, authTokenHash(bytes));
    return data !== undefined && isHashOfSecret(data.otpId) && data.otpId !== dataIdOf(bytes);
  }

  noteUsed({ data }: GivenSecret): void {
    if (data === undefined) return;
    this.#used.add(data.otpId);
    if (this.#used.size <= usedMax) return;
    for (const oldest of this.#used) {
      this.#used.delete(oldest);
      return;
    }
  }

  /** Whether this is activation data that was right, and is used up: to repeat it is no guess. */
  wasUsed(given: GivenSecret): boolean {
    return given.data !== undefined && this.#used.has(given.data.otpId) && !this.isWrong({ secret: undefined }, given);
  }
}
