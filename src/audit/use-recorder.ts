import { AsyncLocalStorage } from 'node:async_hooks';
import { hash } from 'node:crypto';
import { macUse, signUse } from '../token/uses.ts';
import type { SignOutcome, Token } from '../token/token.ts';

/** Collects the uses of the token for one record. */
export class UseRecorder {
  readonly #uses: string[] = [];
  #isRecorded = false;

  /** Returns the uses for the record; afterwards no more are accepted. */
  record(): readonly string[] | undefined {
    this.#isRecorded = true;
    return this.soFar();
  }

  soFar(): readonly string[] | undefined {
    return this.#uses.length === 0 ? undefined : [...this.#uses];
  }

  /** Forgets the uses that a record lists. */
  forget(): void {
    this.#uses.length = 0;
  }

  /**
   * Adds a use. Returns false if the record was already taken: a later use does not belong to it.
   */
  take(use: string): boolean {
    if (!this.#isRecorded) this.#uses.push(use);
    return !this.#isRecorded;
  }
}

/** Whose uses of the token are recorded: a request or an operator's command. */
export interface Recorded {
  readonly uses: UseRecorder;
}

/** Work happens deep in the rooms below; an async context saves passing it through all of them. */
const current = new AsyncLocalStorage<Recorded>();

/** Runs `work` and collects all signatures and MACs that the token makes within it. */
export function recordingUses<T>(recorded: Recorded, work: () => Promise<T>): Promise<T> {
  return current.run(recorded, work);
}

/** Returns whose uses are recorded now, if anybody's. */
export function recordedNow(): Recorded | undefined {
  return current.getStore();
}

/**
 * Returns a token that reports its signatures and MACs to the current request or command: its
 * record lists them, so that the token host's own account of uses can be compared with the log.
 * Uses outside of any, such as signing a CRL, go to `outside`. Uses that may have happened before
 * the host ended are reported too.
 */
export function recordingToken(token: Token, outside: (use: string) => void): Token {
  const report = (uses: readonly string[]): void => {
    const recorder = recordedNow()?.uses;
    for (const use of uses) if (recorder?.take(use) !== true) outside(use);
  };
  const reported = async <T>(uses: readonly string[], work: Promise<T>, isUsed: (value: T) => boolean): Promise<T> => {
    let value: T;
    try {
      value = await work;
    } catch (error) {
      report(uses);
      throw error;
    }
    if (isUsed(value)) report(uses);
    return value;
  };
  return {
    createKey: async (id, type) => token.createKey(id, type),
    destroyKey: async (id) => token.destroyKey(id),
    signAsService: async (id, algorithm, message) =>
      reported([signUse(id, algorithm, hash(algorithm.hash, message, 'buffer'))], token.signAsService(id, algorithm, message), () => true),
    signDigests: (id, algorithm, digests) =>
      reported(
        digests.map((digest) => signUse(id, algorithm, digest)),
        token.signDigests(id, algorithm, digests),
        () => true,
      ),
    signWithProof: (id, algorithm, digests, proofs) =>
      reported(
        digests.map((digest) => signUse(id, algorithm, digest)),
        token.signWithProof(id, algorithm, digests, proofs),
        isSigned,
      ),
    signAsIdentity: async (id, algorithm, zones, proofs) =>
      reported(
        zones.map((zone) => signUse(id, algorithm, hash(algorithm.hash, zone, 'buffer'))),
        token.signAsIdentity(id, algorithm, zones, proofs),
        isSigned,
      ),
    verifyProof: async (id, proofs) => token.verifyProof(id, proofs),
    async makeMac(id, kind, secret, scope) {
      const made = await token.makeMac(id, kind, secret, scope);
      report([macUse(id, kind, made.salt)]);
      return made;
    },
    claimKey: async (id, claim) => token.claimKey(id, claim),
    random: async (bytes) => token.random(bytes),
    listKeys: async () => token.listKeys(),
    findKeys: async (ids) => token.findKeys(ids),
  };
}

function isSigned(outcome: SignOutcome): boolean {
  return outcome.verified && outcome.values.length > 0;
}
