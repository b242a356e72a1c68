import type { Token } from '../token/token.ts';
import type { Activation } from './activation.ts';
import type { GivenSecret } from './credentials.ts';
import type { KeyRecord } from './key-record.ts';
import { confirmReserved, verifyReserved } from './reserved.ts';
import type { CommittedPurpose } from './settling.ts';

/** Authorises revocations of certificates, by a secret of the key or by its transaction. */
export class RevocationSecrets {
  readonly #activation: Activation;
  readonly #token: Token;

  constructor(activation: Activation, token: Token) {
    this.#activation = activation;
    this.#token = token;
  }

  /**
   * Authorises revokeCertificate by its secret: the attempt is counted, and the secret is used up
   * in the commit that revokes.
   * @throws {Refusal} KEY_LOCKED, ACTIVATION_FAILED
   * @throws the error of a failed commit
   */
  async authorise(key: KeyRecord, given: GivenSecret, purpose: CommittedPurpose): Promise<void> {
    await this.#activation.activate(key, { use: 'revoke', action: 'REVOKE', given }, async (reserved) => {
      const outcome = await verifyReserved(this.#token, reserved);
      return outcome.verified ? { ...outcome, usesUp: true, purpose } : outcome;
    });
  }

  /**
   * Authorises a revocation without a secret by the transaction of the key. A wrong transaction
   * counts as a failure, and so does a missing one if the key is bound to one; a right one does not
   * reset the count, since it is not a secret.
   * @throws {Refusal} KEY_LOCKED, ACTIVATION_FAILED
   */
  async authoriseByTransaction(key: KeyRecord, transactionId: string | undefined): Promise<void> {
    if (transactionId === undefined && key.transaction === undefined) return;
    const given: GivenSecret = { member: 'transactionId', bytes: Buffer.from(transactionId ?? ''), transactionId };
    const asked = { use: 'revoke', action: 'REVOKE', given, confirmsOnly: true } as const;
    await this.#activation.activate(key, asked, async (reserved) => confirmReserved(this.#token, reserved));
  }
}
