import { hash } from 'node:crypto';

const digestBytes = 32;
/** Of more keys that are made before the first of them is signed, nobody needs the oldest. */
const remembered = 64;

/**
 * The keys of audit checkpoints that this host has made, in memory that its threads share. The key
 * of checkpoints signs that one of these follows it, and no other: a key outside the token would
 * stay in the hands of whoever controlled the daemon's process once.
 */
export class MadeAuditKeys {
  readonly #count: Int32Array;
  readonly #digests: Uint8Array;

  /** @param memory from `MadeAuditKeys.memory` */
  constructor(memory: SharedArrayBuffer) {
    this.#count = new Int32Array(memory, 0, 1);
    this.#digests = new Uint8Array(memory, Int32Array.BYTES_PER_ELEMENT);
  }

  static memory(): SharedArrayBuffer {
    return new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT + remembered * digestBytes);
  }

  /** Remembers a key before its maker is answered. `publicKeyInfo`: SubjectPublicKeyInfo, DER. */
  made(publicKeyInfo: Uint8Array): void {
    const place = Atomics.add(this.#count, 0, 1) % remembered;
    this.#digests.set(hash('sha256', publicKeyInfo, 'buffer'), place * digestBytes);
  }

  /** @param digest SHA-256 of a SubjectPublicKeyInfo, hexadecimal */
  has(digest: string): boolean {
    const wanted = Buffer.from(digest, 'hex');
    if (wanted.length !== digestBytes) return false;
    const count = Math.min(Atomics.load(this.#count, 0), remembered);
    for (let place = 0; place < count; place += 1) {
      if (wanted.equals(this.#digests.subarray(place * digestBytes, (place + 1) * digestBytes))) return true;
    }
    return false;
  }
}
