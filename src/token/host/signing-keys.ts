import { hash } from 'node:crypto';
import type { Handle } from 'pkcs11js';
import { keyTrial, type KeyId } from '../key-id.ts';
import { handleIsStale, requestIsRefused } from '../pkcs11-faults.ts';
import type { SignatureAlgorithm } from '../signature-algorithm.ts';
import { signUse } from '../uses.ts';
import { findById, NoSuchKey } from './find-objects.ts';
import type { KeyDirectory } from './key-directory.ts';
import { curves, type Curve } from './key-templates.ts';
import { signing } from './mechanisms.ts';
import type { SecretMemory } from './secret-checks.ts';
import { pkcs11Code, pkcs11js, type Session } from './session.ts';

const maxSignatureBytes = 1024;
const longestDigestBytes = 64;
const orderBytes: Readonly<Record<Curve, number>> = { 'P-256': 32, 'P-384': 48, 'P-521': 66 };
const curveNames = ['P-256', 'P-384', 'P-521'] as const satisfies readonly Curve[];
const rememberedMax = 100_000;

/** Uses private keys by their handles. Whether a key may sign is decided before. */
export class SigningKeys {
  readonly #sessionNow: () => Session;
  readonly #keys: KeyDirectory;
  readonly #memory: Pick<SecretMemory, 'use'>;
  /** The key of the service that has signed a message last. */
  lastOfService: { readonly id: KeyId; readonly algorithm: SignatureAlgorithm } | undefined;
  readonly #ecdsaBytes = new Map<KeyId, number>();
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
      const { mechanism, input: whole } = signing(algorithm, digest);
      return this.withKey(id, (key) => {
        const { module, handle } = this.#sessionNow();
        // Some tokens refuse a digest that is longer than the order of the curve, and some sign it wrongly.
        const isCut = algorithm.scheme === 'ECDSA' && whole.length > orderBytes['P-256'];
        const input = isCut ? whole.subarray(0, this.ecdsaBytes(id, key)) : whole;
        module.C_SignInit(handle, mechanism, key);
        const value = Buffer.from(module.C_Sign(handle, input, this.#value));
        this.record(id, algorithm, digest);
        return value;
      });
    });
  }

  /**
   * Returns how many bytes of a digest ECDSA with this key signs: those of the order of its curve
   * (FIPS 186-5, §6.4.1), as the token names the curve, which is read once.
   * @throws what the token answers
   */
  ecdsaBytes(id: KeyId, key: Handle): number {
    const known = this.#ecdsaBytes.get(id);
    if (known !== undefined) return known;
    const curve = this.#curveOf(key);
    const bytes = curve === undefined ? longestDigestBytes : orderBytes[curve];
    if (this.#ecdsaBytes.size >= rememberedMax) this.#ecdsaBytes.clear();
    this.#ecdsaBytes.set(id, bytes);
    return bytes;
  }

  /**
   * Signs the text that is signed to find out whether a key is there, with the key of the service
   * that has signed last. Returns false if none has.
   * @throws what the token answers
   */
  tryLastOfService(): boolean {
    if (this.lastOfService === undefined) return false;
    const { id, algorithm } = this.lastOfService;
    try {
      return this.values(id, algorithm, [hash(algorithm.hash, keyTrial, 'buffer')]).length === 1;
    } catch (error) {
      if (!(error instanceof NoSuchKey)) throw error;
      this.lastOfService = undefined;
      return false;
    }
  }

  /** Records a signature that was made. */
  record(id: KeyId, algorithm: SignatureAlgorithm, digest: Buffer): void {
    this.#memory.use(signUse(id, algorithm, digest));
  }

  /** Whether the key is on the token: a private key, or an HMAC key of the service. */
  isThere(id: KeyId): boolean {
    if (this.#keys.get(id) !== undefined) return true;
    const { CKO_PRIVATE_KEY, CKO_SECRET_KEY } = pkcs11js;
    return [CKO_PRIVATE_KEY, CKO_SECRET_KEY].some((value) => findById(this.#sessionNow(), id, value).length > 0);
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

  /**
   * Undefined for an RSA key, of which somebody wants ECDSA, and where the token names no curve.
   */
  #curveOf(key: Handle): Curve | undefined {
    const { module, handle } = this.#sessionNow();
    try {
      const [parameters] = module.C_GetAttributeValue(handle, key, [{ type: pkcs11js.CKA_EC_PARAMS }]);
      const value = parameters?.value;
      return Buffer.isBuffer(value) ? curveNames.find((name) => curves[name].equals(value)) : undefined;
    } catch (error) {
      const code = pkcs11Code(error);
      if (code !== undefined && requestIsRefused(code)) return undefined;
      throw error;
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
