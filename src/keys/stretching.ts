import { scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import type { SecretMark } from './known-secrets.ts';

const derive = promisify<string | Uint8Array, Uint8Array, number, { N: number; r: number; p: number }, Buffer>(scrypt);

/** RFC 7914: 34 ms of one core, 16 MiB. */
const cost = { N: 2 ** 14, r: 8, p: 1 } as const;
const stretchedBytes = 32;
const keptMs = 5 * 60_000;
const maxEntries = 10_000;

/** Stretches a password that a person chose to the length of a key. */
export async function stretch(password: Uint8Array, salt: Uint8Array): Promise<Uint8Array> {
  return derive(password, salt, stretchedBytes, cost);
}

/**
 * Caches stretched passwords that the token accepted for some minutes, so that only the first use
 * of a password is slow.
 */
export class StretchedPasswords {
  readonly #kept = new Map<SecretMark, { readonly salt: Uint8Array; readonly value: Uint8Array; readonly untilMs: number }>();

  /** Returns the stretched password. A wrong one is never cached, so each costs the same. */
  async of(mark: SecretMark, password: Uint8Array, salt: Uint8Array): Promise<Uint8Array> {
    return this.kept(mark, salt) ?? stretch(password, salt);
  }

  /** Returns the stretched password if it is in memory. */
  kept(mark: SecretMark, salt: Uint8Array): Uint8Array | undefined {
    const kept = this.#kept.get(mark);
    return kept !== undefined && kept.untilMs > performance.now() && Buffer.compare(kept.salt, salt) === 0 ? kept.value : undefined;
  }

  keep(mark: SecretMark, salt: Uint8Array, value: Uint8Array): void {
    this.#kept.delete(mark);
    this.#kept.set(mark, { salt, value, untilMs: performance.now() + keptMs });
    for (const [oldest, { untilMs }] of this.#kept) {
      if (untilMs > performance.now() && this.#kept.size <= maxEntries) return;
      this.#kept.delete(oldest);
    }
  }
}
