import { hash, randomBytes } from 'node:crypto';
import type { KeyId } from '../token/key-id.ts';
import type { GivenSecret } from './credentials.ts';

const maxEntries = 10_000;

declare const brand: unique symbol;
/** A keyed hash of a secret and its transaction. */
export type SecretMark = string & { readonly [brand]: 'SecretMark' };

/**
 * Remembers which password the token last accepted for each key, under a MAC whose key exists only
 * in the memory of this process. It authorises nothing: the token still compares every time. It
 * only separates attempts that are almost certain to succeed from those that must be reserved.
 */
export class KnownSecrets {
  readonly #macKey = randomBytes(32);
  readonly #marks = new Map<KeyId, SecretMark>();

  /** Returns the mark of a secret, which is of no use outside this process. */
  markOf(id: KeyId, { member, bytes, transactionId }: GivenSecret): SecretMark {
    const transaction = transactionId === undefined ? '-' : `+${transactionId}`;
    // A PIN is the password under another name.
    const head = Buffer.from(`${id} ${member === 'pin' ? 'password' : member} ${Buffer.byteLength(transaction)} ${transaction}`);
    // The MAC key comes first and no mark ever leaves the process, so a plain hash is a MAC here;
    // createHmac takes three times as long.
    return hash('sha256', Buffer.concat([this.#macKey, head, bytes]), 'base64') as SecretMark;
  }

  knows(id: KeyId, mark: SecretMark): boolean {
    return this.#marks.get(id) === mark;
  }

  remember(id: KeyId, mark: SecretMark): void {
    if (this.#marks.get(id) === mark) return;
    this.#marks.set(id, mark);
    if (this.#marks.size <= maxEntries) return;
    const oldest = this.#marks.keys().next();
    if (oldest.done !== true) this.#marks.delete(oldest.value);
  }

  forget(id: KeyId): void {
    this.#marks.delete(id);
  }
}
