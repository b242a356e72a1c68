import { createHmac, randomBytes } from 'node:crypto';
import type { KeyId } from '../token/key-id.ts';

const maxEntries = 10_000;

/**
 * Remembers, under a MAC whose key lives in this process's memory alone, which secret the token last accepted for a key. It decides nothing:
 * the token still compares each time. It only tells an attempt that is all but sure to succeed from one that has to be reserved.
 */
export class KnownSecrets {
  readonly #macKey = randomBytes(32);
  readonly #macs = new Map<KeyId, Buffer>();

  knows(id: KeyId, secret: Uint8Array): boolean {
    return this.#macs.get(id)?.equals(this.#mac(id, secret)) ?? false;
  }

  remember(id: KeyId, secret: Uint8Array): void {
    this.#macs.delete(id);
    this.#macs.set(id, this.#mac(id, secret));
    if (this.#macs.size <= maxEntries) return;
    const oldest = this.#macs.keys().next();
    if (oldest.done !== true) this.#macs.delete(oldest.value);
  }

  forget(id: KeyId): void {
    this.#macs.delete(id);
  }

  #mac(id: KeyId, secret: Uint8Array): Buffer {
    return createHmac('sha256', this.#macKey).update(id).update(secret).digest();
  }
}
