import type { Handle } from 'pkcs11js';
import type { KeyId } from '../key-id.ts';
import { handleIsStale } from '../pkcs11-faults.ts';
import type { SignatureAlgorithm } from '../signature-algorithm.ts';
import { signUse } from '../uses.ts';
import { findById, NoSuchKey } from './find-objects.ts';
import type { KeyDirectory } from './key-directory.ts';
import { signing } from './mechanisms.ts';
import type { SecretMemory } from './secret-checks.ts';
import { pkcs11Code, pkcs11js, type Session } from './session.ts';

const maxSignatureBytes = 1024;

/** Uses private keys by their handles. Whether a key may sign is decided before. */
export class SigningKeys {
  readonly #sessionNow: () => Session;
  readonly #keys: KeyDirectory;
  readonly #memory: Pick<SecretMemory, 'use'>;
  /** Buffer that C_Sign writes to; values are copied out of it. */
  readonly #value = Buffer.alloc(maxSignatureBytes);

  /** @param sessionNow the session of this thread, which is reopened after some faults */
  constructor(sessionNow: () => Session, keys: KeyDirectory, memory: Pick<SecretMemory, 'use'>) {
    this.#sessionNow = sessionNow;
    this.#keys = keys;
    this.#memory = memory;
  }

  /** Signs digests, and records each signature. @throws {NoSuchKey} */
  values(id: KeyId, algorithm: SignatureAlgorithm, digests: readonly Buffer[]): Buffer[] {
    return digests.map((digest) => {
      const { mechanism, input } = signing(algorithm, digest);
      return this.withKey(id, (key) => {
        const { module, handle } = this.#sessionNow();
        module.C_SignInit(handle, mechanism, key);
        const value = Buffer.from(module.C_Sign(handle, input, this.#value));
        this.record(id, algorithm, digest);
        return value;
      });
    });
  }

  /** Records a signature that was made. */
  record(id: KeyId, algorithm: SignatureAlgorithm, digest: Buffer): void {
    this.#memory.use(signUse(id, algorithm, digest));
  }

  /** Uses the cached handle; a stale one is looked up once more. @throws {NoSuchKey} */
  withKey<T>(id: KeyId, use: (key: Handle) => T): T {
    const kept = this.#keys.get(id) ?? this.#search(id);
    try {
      return use(kept);
    } catch (error) {
      if (!handleIsStale(pkcs11Code(error))) throw error;
      return use(this.#search(id));
    }
  }

  #search(id: KeyId): Handle {
    // The token may still find it for a moment.
    if (this.#keys.isRemoved(id)) throw new NoSuchKey(id);
    const [handle] = findById(this.#sessionNow(), id, pkcs11js.CKO_PRIVATE_KEY);
    if (handle === undefined) throw new NoSuchKey(id);
    this.#keys.found(id, handle);
    return handle;
  }
}
