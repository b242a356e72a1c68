import { randomBytes } from 'node:crypto';
import type { KeyId } from '../key-id.ts';
import type { MadeMac, Proof, Proofs, SecretKind } from '../token.ts';
import { wrongUse, macUse } from '../uses.ts';
import { macInput } from '../wire/messages.ts';
import { readStoredMac } from '../mac-generation.ts';
import { isHmac, makeHmac, type MacComparison } from './hmac.ts';
import type { MacKeys } from './mac-keys.ts';
import type { Session } from './session.ts';
import { answeredCandidate, wrongSecretsRevealed, type WrongSecrets } from './wrong-secrets.ts';

const saltBytes = 16;

/** The part of the host's memory that secrets concern. */
export interface SecretMemory {
  /** Records a use of a key after it happened. */
  use(use: string): void;
  readonly wrongSecrets: Pick<WrongSecrets, 'check' | 'count'>;
}

/** Makes and verifies the MACs of secrets with the token's MAC key, and counts wrong ones. */
export class SecretChecks {
  readonly #sessionNow: () => Session;
  readonly #macKeys: MacKeys;
  readonly comparedBy: MacComparison;
  readonly #memory: SecretMemory;

  /**
   * @param sessionNow the session of this thread, which is reopened after some faults
   * @param comparedBy who compares MACs, by the module's profile
   */
  constructor(sessionNow: () => Session, macKeys: MacKeys, comparedBy: MacComparison, memory: SecretMemory) {
    this.#sessionNow = sessionNow;
    this.#macKeys = macKeys;
    this.comparedBy = comparedBy;
    this.#memory = memory;
  }

  /** Makes the MAC of a new secret, with the MAC key of this number. */
  make(id: KeyId, kind: SecretKind, secret: Uint8Array, scope: Uint8Array, generation: number): MadeMac {
    // The host draws the salt: with the MAC of a guess under a secret's own salt, the requester
    // would know whether the guess is right.
    const salt = randomBytes(saltBytes);
    const mac = this.#mac(macInput(id, kind, salt, secret, scope), generation);
    this.#memory.use(macUse(id, kind, salt));
    return { salt, mac };
  }

  /**
   * Returns the index of the candidate that verifies, provided that `also` verifies too. It
   * compares everything even after a failure, and counts wrong secrets.
   * @throws {KeyHeldBack}
   */
  verify(id: KeyId, { anyOf, also }: Proofs): number | undefined {
    const { wrongSecrets } = this.#memory;
    const revealsSecrets = [...anyOf, ...(also === undefined ? [] : [also])].some(({ kind }) => kind !== 'RECORD');
    if (revealsSecrets) wrongSecrets.check(id);
    const verdicts = anyOf.map((candidate) => this.#verifies(id, candidate));
    const isAlsoRight = also === undefined || this.#verifies(id, also);
    const by = isAlsoRight ? answeredCandidate(anyOf, verdicts) : undefined;
    // A seal is a MAC over public data: it does not help to guess a secret, and requests without a
    // secret (a revocation) are not held back.
    const wrong = revealsSecrets ? wrongSecretsRevealed(anyOf, by) : 0;
    if (wrong > 0) this.wrong(id, wrong);
    return by;
  }

  /** Whether the key is not held back: otherwise nothing may be compared for it. */
  mayCompare(id: KeyId): boolean {
    try {
      this.#memory.wrongSecrets.check(id);
      return true;
    } catch {
      return false;
    }
  }

  /** Counts secrets that were compared and are wrong. */
  wrong(id: KeyId, count: number): void {
    this.#memory.wrongSecrets.count(id, count);
    this.#memory.use(wrongUse(id, count));
  }

  #verifies(id: KeyId, proof: Proof): boolean {
    const input = macInput(id, proof.kind, proof.salt, proof.secret, proof.scope);
    const { mac, generation } = readStoredMac(proof.mac);
    return this.#macKeys.compare(generation, (key, isOwn) => {
      const isRight = isHmac(this.#sessionNow(), { hash: 'sha256', key }, input, Buffer.from(mac), this.comparedBy);
      return isRight && isOwn;
    });
  }

  #mac(input: Buffer, generation: number): Buffer {
    return this.#macKeys.at(generation).use((key) => makeHmac(this.#sessionNow(), { hash: 'sha256', key }, input));
  }
}
