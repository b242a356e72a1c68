import type { KeyType } from '../config/profile.ts';
import type { KeyId } from '../token/key-id.ts';
import type { SignatureAlgorithm } from '../token/signature-algorithm.ts';
import type { SignOutcome, Token } from '../token/token.ts';
import type { Reserved } from './reserved.ts';

/** Where private keys live. */
export interface KeyCustody {
  /** Makes the key under an identifier that the journal knows already; answers its public key (SubjectPublicKeyInfo, DER). */
  create(id: KeyId, type: KeyType): Promise<Uint8Array>;
  /** Verifies the secret and signs, in one step. */
  sign(reserved: Reserved<'SIGN'>, algorithm: SignatureAlgorithm, digests: readonly Uint8Array[]): Promise<SignOutcome>;
  /** Verifies the secret alone. */
  verify(reserved: Reserved<'SIGN' | 'REVOKE'>): Promise<boolean>;
  /** Destroys the private key. A key that is gone already is no error. */
  destroy(id: KeyId): Promise<void>;
}

/** Private keys as objects of the token: sensitive, non-extractable, sign-only. */
export function tokenCustody(token: Token): KeyCustody {
  return {
    create: async (id, type) => token.createKey(id, type),
    sign: async ({ key, proof }, algorithm, digests) => token.signWithProof(key.id, algorithm, digests, proof),
    verify: async ({ key, proof }) => token.verifyProof(key.id, proof),
    destroy: async (id) => token.destroyKey(id),
  };
}
