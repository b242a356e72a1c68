import { randomBytes } from 'node:crypto';
import type { KeyType } from '../config/profile.ts';
import { Refusal } from '../result-codes.ts';
import type { KeyId } from '../token/key-id.ts';
import type { SignatureAlgorithm } from '../token/signature-algorithm.ts';
import { KeyGone, KeyHeldBack, type ClaimOutcome, type ProofOutcome, type SignOutcome, type Token } from '../token/token.ts';
import type { OtpAction } from './credentials.ts';
import type { KeyRecord } from './key-record.ts';
import type { PossibleSecret, Reserved } from './reserved.ts';

/** Where private keys live. */
export interface KeyCustody {
  /** Makes the key under an identifier that the journal knows already; answers its public key (SubjectPublicKeyInfo, DER). */
  create(id: KeyId, type: KeyType): Promise<Uint8Array>;
  /**
   * Verifies the secret and signs, in one step; with a secret that `allows` does not let sign, it verifies alone.
   * @throws {Refusal} KEY_STATE where the secret is right and the private key is gone; KEY_LOCKED where the host has compared too many wrong ones
   */
  sign(
    reserved: Reserved<'SIGN'>,
    algorithm: SignatureAlgorithm,
    digests: readonly Uint8Array[],
    allows: (secret: PossibleSecret) => boolean,
  ): Promise<SignOutcome>;
  /** Verifies the secret alone. @throws {Refusal} KEY_LOCKED */
  verify(reserved: Reserved<OtpAction>): Promise<ProofOutcome>;
  /** Marks a key that was made ahead as handed out, where the key is: nobody gets it twice, whatever the records say. */
  claim(id: KeyId): Promise<ClaimOutcome>;
  /** Destroys the private key. A key that is gone already is no error. */
  destroy(id: KeyId): Promise<void>;
}

/** Private keys as objects of the token: sensitive, non-extractable, sign-only. */
export function tokenCustody(token: Token): KeyCustody {
  return {
    create: async (id, type) => token.createKey(id, type),
    sign: async ({ key, candidates, also }, algorithm, digests, allows) =>
      refusing(
        key,
        token.signWithProof(key.id, algorithm, digests, {
          anyOf: candidates.map((candidate) => ({ ...candidate, signs: allows(candidate) })),
          also,
        }),
      ),
    verify: async ({ key, candidates, also }) =>
      refusing(key, token.verifyProof(key.id, { anyOf: candidates.map((candidate) => ({ ...candidate, signs: false })), also })),
    claim: async (id) => token.claimKey(id, randomBytes(16).toString('hex')),
    destroy: async (id) => token.destroyKey(id),
  };
}

/**
 * A record can be older than the token: the key was consumed or removed since, and no restart of the host brings it back. And the host counts wrong
 * secrets itself: where it compares no more of them, the key is locked, and its record notes until when. @throws {Refusal} KEY_STATE, KEY_LOCKED
 */
export async function refusing<T>(key: Pick<KeyRecord, 'heldBackUntil'>, work: Promise<T>): Promise<T> {
  try {
    const answer = await work;
    key.heldBackUntil = undefined;
    return answer;
  } catch (cause) {
    if (cause instanceof KeyGone) throw new Refusal('KEY_STATE', { message: 'the private key is not on the token any more', cause });
    if (cause instanceof KeyHeldBack) {
      key.heldBackUntil = cause.until.getTime();
      throw new Refusal('KEY_LOCKED', { message: `the key is locked until ${cause.until.toISOString()}`, cause });
    }
    throw cause;
  }
}
