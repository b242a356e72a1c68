import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

declare const nativeKey: unique symbol;

/** A public key as OpenSSL holds it. It belongs to the thread that read it. */
export interface NativeKey {
  readonly [nativeKey]: true;
}

/** What `native/verify-value.c` exports. Arguments of a wrong type are a TypeError. */
interface Native {
  /** The key of a SubjectPublicKeyInfo in DER; undefined where OpenSSL takes it for none, and for exponents of RSA that nobody has: even ones, more than 256 bits. */
  readKey(subjectPublicKeyInfo: Uint8Array): NativeKey | undefined;
  /** `saltBytes` and `mgfHash` count for RSASSA-PSS alone. */
  verifyDigest(
    key: NativeKey,
    scheme: number,
    hash: number,
    mgfHash: number,
    saltBytes: number,
    digest: Uint8Array,
    value: Uint8Array,
  ): boolean;
  /** By a key that signs messages whole: Ed25519, Ed448. */
  verifyMessage(key: NativeKey, message: Uint8Array, value: Uint8Array): boolean;
}

/** The numbers that the native module has for them. */
export const schemeNumbers = { RSA_PKCS1: 0, RSA_PSS: 1, ECDSA: 2, DSA: 3 } as const;
export const hashNumbers = { sha1: 0, sha224: 1, sha256: 2, sha384: 3, sha512: 4 } as const;

/** Built by packaging/bootstrap.sh. */
const file = fileURLToPath(new URL('../../dist/verify-value.node', import.meta.url));
let loaded: Native | undefined;

/** Loaded when first needed. @throws {Error} where it is not built */
export function native(): Native {
  // A native module has no types of its own: the C source is what this interface says.
  loaded ??= createRequire(import.meta.url)(file) as Native;
  return loaded;
}
