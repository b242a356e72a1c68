import { AsyncLocalStorage } from 'node:async_hooks';
import { hash } from 'node:crypto';
import { macUse, signUse } from '../token/uses.ts';
import type { SignOutcome, Token } from '../token/token.ts';

/** Who has a record to be written, and what the token did for it. */
export class UseTeller {
  readonly #uses: string[] = [];
  #isRecorded = false;

  /** What the record says; from then on it takes no more. */
  record(): readonly string[] | undefined {
    this.#isRecorded = true;
    return this.sofar();
  }

  sofar(): readonly string[] | undefined {
    return this.#uses.length === 0 ? undefined : [...this.#uses];
  }

  /** Forgets the uses that a record lists. */
  forget(): void {
    this.#uses.length = 0;
  }

  /** False where the record is written already: what goes on after it belongs to none. */
  take(use: string): boolean {
    if (!this.#isRecorded) this.#uses.push(use);
    return !this.#isRecorded;
  }
}

const current = new AsyncLocalStorage<UseTeller>();

/** What the token signs and what MACs it makes within `work`, whoever asks it there, is told to `teller`. */
export async function tellingUses<T>(teller: UseTeller, work: () => Promise<T>): Promise<T> {
  return current.run(teller, work);
}

/**
 * The token, with its signatures and MACs told to the request or command that they are made for: its record names them, so that the token host's own account
 * of uses can be compared with the log. Those that belong to none are told to `outside`, such as that of a CRL. What may have been done before the host
 * ended is told too.
 */
export function tellingToken(token: Token, outside: (use: string) => void): Token {
  const tell = (uses: readonly string[]): void => {
    const teller = current.getStore();
    for (const use of uses) if (teller?.take(use) !== true) outside(use);
  };
  const told = async <T>(uses: readonly string[], work: Promise<T>, isUsed: (value: T) => boolean): Promise<T> => {
    let value: T;
    try {
      value = await work;
    } catch (error) {
      tell(uses);
      throw error;
    }
    if (isUsed(value)) tell(uses);
    return value;
  };
  return {
    createKey: async (id, type) => token.createKey(id, type),
    destroyKey: async (id) => token.destroyKey(id),
    signAsService: async (id, algorithm, message) =>
      told([signUse(id, algorithm, hash(algorithm.hash, message, 'buffer'))], token.signAsService(id, algorithm, message), () => true),
    signDigests: async (id, algorithm, digests) =>
      told(
        digests.map((digest) => signUse(id, algorithm, digest)),
        token.signDigests(id, algorithm, digests),
        () => true,
      ),
    signWithProof: async (id, algorithm, digests, proofs) =>
      told(
        digests.map((digest) => signUse(id, algorithm, digest)),
        token.signWithProof(id, algorithm, digests, proofs),
        (outcome: SignOutcome) => outcome.verified && outcome.values.length > 0,
      ),
    verifyProof: async (id, proofs) => token.verifyProof(id, proofs),
    async makeMac(id, kind, secret, scope) {
      const made = await token.makeMac(id, kind, secret, scope);
      tell([macUse(id, kind, made.salt)]);
      return made;
    },
    claimKey: async (id, claim) => token.claimKey(id, claim),
    random: async (bytes) => token.random(bytes),
    listKeys: async () => token.listKeys(),
  };
}
