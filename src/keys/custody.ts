import { randomBytes } from 'node:crypto';
import type { KeyType } from '../config/key-types.ts';
import { Refusal } from '../result-codes.ts';
import type { KeyId } from '../token/key-id.ts';
import type { SignatureAlgorithm } from '../token/signature-algorithm.ts';
import { KeyGone, KeyHeldBack, type ClaimOutcome, type ProofOutcome, type SignOutcome, type Token } from '../token/token.ts';
import type { OtpAction } from './credentials.ts';
import type { KeyRecord } from './key-record.ts';
import type { PossibleSecret, Reserved } from './reserved.ts';

/** Holds private keys. */
export interface KeyCustody {
  /**
   * Creates the key under an identifier that is already in the journal. Returns its public key
   * (SubjectPublicKeyInfo, DER).
   */
  create(id: KeyId, type: KeyType): Promise<Uint8Array>;
  /**
   * Verifies the secret and signs in one step; if `allows` does not let the secret sign, it is only
   * verified.
   * @throws {Refusal} KEY_STATE if the secret is right and the private key is gone; KEY_LOCKED if
   *   the host has compared too many wrong secrets
   */
  sign(
    reserved: Reserved<'SIGN'>,
    algorithm: SignatureAlgorithm,
    digests: readonly Uint8Array[],
    allows: (secret: PossibleSecret) => boolean,
  ): Promise<SignOutcome>;
  /** Verifies the secret without signing. @throws {Refusal} KEY_LOCKED */
  verify(reserved: Reserved<OtpAction>): Promise<ProofOutcome>;
  /**
   * Marks a pooled key as handed out on the token itself, so that it is never handed out twice,
   * whatever the records say.
   */
  claim(id: KeyId): Promise<ClaimOutcome>;
  /** Destroys the private key. Succeeds if the key is already gone. */
  destroy(id: KeyId): Promise<void>;
}

/**
 * Returns a custody that keeps private keys as token objects: sensitive, non-extractable,
 * sign-only.
 */
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
 * Turns errors of the token into refusals. The record may be older than the token: if the key was
 * consumed or removed since, restarting the host does not help. The host also counts wrong secrets
 * itself; while it compares no more of them, the key is locked, and its record notes until when.
 * @throws {Refusal} KEY_STATE, KEY_LOCKED
 */
export async function refusing<T>(key: Pick<KeyRecord, 'heldBackUntil'>, work: Promise<T>): Promise<T> {
  try {
    const answer = await work;
    key.heldBackUntil = undefined;
    return answer;
  } catch (cause) {
    if (cause instanceof KeyGone) throw new Refusal('KEY_STATE', { message: 'the private key is no longer on the token', cause });
    if (cause instanceof KeyHeldBack) {
      key.heldBackUntil = cause.until.getTime();
      throw new Refusal('KEY_LOCKED', { message: `the key is locked until ${cause.until.toISOString()}`, cause });
    }
    throw cause;
  }
}
