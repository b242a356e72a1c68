import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

declare const nativeKey: unique symbol;

/** A public key as OpenSSL holds it. It belongs to the thread that read it. */
export interface NativeKey {
  readonly [nativeKey]: true;
}

/** Exports of `native/verify-value.c`. Arguments of a wrong type cause a TypeError. */
interface Native {
  /**
   * Reads the key of a SubjectPublicKeyInfo in DER; undefined if OpenSSL rejects it, and for RSA
   * keys beyond the limits: a modulus of more than 8192 bits, an exponent that is even or has more
   * than 32 bits.
   */
  readKey(subjectPublicKeyInfo: Uint8Array): NativeKey | undefined;
  /** `saltBytes` and `mgfHash` are used for RSASSA-PSS only. */
  verifyDigest(
    key: NativeKey,
    scheme: number,
    hash: number,
    mgfHash: number,
    saltBytes: number,
    digest: Uint8Array,
    value: Uint8Array,
  ): boolean;
  /** For keys that sign whole messages: Ed25519, Ed448. */
  verifyMessage(key: NativeKey, message: Uint8Array, value: Uint8Array): boolean;
}

/** Numbers of schemes and hashes in the native module. */
export const schemeNumbers = { RSA_PKCS1: 0, RSA_PSS: 1, ECDSA: 2, DSA: 3 } as const;
export const hashNumbers = { sha1: 0, sha224: 1, sha256: 2, sha384: 3, sha512: 4 } as const;

/** Built by packaging/bootstrap.sh. */
const file = fileURLToPath(new URL('../../dist/verify-value.node', import.meta.url));
let loaded: Native | undefined;

/** Loads the module on first use. @throws {Error} if it is not built */
export function native(): Native {
  // A native module has no types; this interface describes the C source.
  loaded ??= createRequire(import.meta.url)(file) as Native;
  return loaded;
}
