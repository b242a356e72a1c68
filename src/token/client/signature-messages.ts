import type { KeyId } from '../key-id.ts';
import { TokenUnavailable, type SignOutcome } from '../token.ts';
import type { Answer } from '../wire/frames.ts';
import { signOutcome } from './answers.ts';
import type { Part } from './token-requests.ts';

/**
 * A message to sign holds a thread of the host for about as long, or for one signature. Each costs
 * about a tenth of a millisecond, so they are longer while nobody else asks the token.
 */
const messageMs = { shared: 3, alone: 8 };
/** While one message is answered, the next one of the same request is at hand. */
const messagesAtOnce = 2;
const knownKeysMax = 4096;
/** Weight of each new message in the moving average. */
const meanWeight = 1 / 8;

/**
 * Divides requests to sign into messages: many signatures in one message would hold a thread of the
 * host while others wait. Each message has the proofs, which the token verifies each time; the
 * other messages follow only after the first has verified, so that a wrong secret counts once.
 */
export class SignatureMessages {
  /** Time that the token takes for one signature with a key, in milliseconds. */
  readonly #eachMs = new Map<KeyId, number>();
  readonly #isShared: () => boolean;

  /** @param isShared whether several clients ask the token now */
  constructor(isShared: () => boolean) {
    this.#isShared = isShared;
  }

  /**
   * Signs the items, in one message if that takes little.
   * @param write writes the message for some of them
   * @throws as `write`, before anything is signed; as `signOutcome` and `ask`
   */
  async sign(
    id: KeyId,
    items: readonly Uint8Array[],
    write: (items: readonly Uint8Array[]) => Buffer,
    ask: (message: Buffer, part: Part) => Promise<Answer>,
  ): Promise<SignOutcome> {
    if (items.length > 1) write(items);
    const answered = async (some: readonly Uint8Array[], continues: boolean): Promise<SignOutcome> => {
      const eachMs = this.#eachMs.get(id);
      const answer = await ask(write(some), { continues, expectedMs: eachMs === undefined ? undefined : eachMs * some.length });
      const outcome = signOutcome(answer);
      if (outcome.verified && outcome.values.length > 0) this.#learn(id, answer.tokenMicroseconds / 1000 / some.length);
      return outcome;
    };
    const first = await answered(items.slice(0, this.#mostOf(id)), false);
    if (!first.verified || first.values.length === 0 || first.values.length === items.length) return first;
    return { ...first, values: [...first.values, ...(await this.#rest(id, items.slice(first.values.length), answered))] };
  }

  async #rest(
    id: KeyId,
    items: readonly Uint8Array[],
    answered: (some: readonly Uint8Array[], continues: boolean) => Promise<SignOutcome>,
  ): Promise<readonly Uint8Array[]> {
    const parts: (readonly Uint8Array[])[] = [];
    let begun = 0;
    const work = async (): Promise<void> => {
      while (begun < items.length) {
        const some = items.slice(begun, begun + this.#mostOf(id));
        begun += some.length;
        const part = parts.push([]) - 1;
        const outcome = await answered(some, true);
        if (!outcome.verified) throw new TokenUnavailable('the token verified the secret of a request once, and then not again');
        parts[part] = outcome.values;
      }
    };
    const ends = await Promise.allSettled(
      Array.from({ length: messagesAtOnce }, async () =>
        work().catch((error: unknown) => {
          begun = items.length;
          throw error;
        }),
      ),
    );
    for (const end of ends) if (end.status === 'rejected') throw notAtFirst(end.reason);
    return parts.flat();
  }

  /** The number of items in the next message; one where it is not known how long one takes. */
  #mostOf(id: KeyId): number {
    const eachMs = this.#eachMs.get(id);
    return eachMs === undefined ? 1 : Math.max(1, Math.floor(messageMs[this.#isShared() ? 'shared' : 'alone'] / eachMs));
  }

  #learn(id: KeyId, eachMs: number): void {
    const known = this.#eachMs.get(id);
    if (known === undefined && this.#eachMs.size >= knownKeysMax) this.#eachMs.clear();
    this.#eachMs.set(id, known === undefined ? eachMs : known + (eachMs - known) * meanWeight);
  }
}

/** The messages before have had an effect, although this one may have had none. */
function notAtFirst(error: unknown): unknown {
  return error instanceof TokenUnavailable && error.nothingDone ? new TokenUnavailable(error.message, { cause: error }) : error;
}
