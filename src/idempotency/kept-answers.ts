import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { keepingOutcome, type SettledOutcome } from '../state/settlement.ts';
import type { StateStore } from '../state/state-store.ts';
import { sealedAnswer } from './answer-parts.ts';
import { Claims } from './claims.ts';
import { RequestSecrets, type RepeatableRequest, type TokenMac } from './request-secrets.ts';
import { Settlement } from './settlement.ts';

/** The Idempotency-Key was used with another body (HTTP 422). */
export class OtherRequest extends Error {
  constructor() {
    super('this Idempotency-Key was used with another body');
    this.name = 'OtherRequest';
  }
}

/** How a request is carried out, and what its endings are as text. */
export interface Repeatable<T> {
  run(): Promise<T>;
  /** Undefined where the ending is not kept. */
  textOf(ending: T): string | undefined;
  endingOf(text: string): T;
  /** What an outcome that the operation settles becomes. */
  settled(outcome: SettledOutcome): T;
}

export interface Repetition<T> {
  readonly ending: T;
  /** The request had been carried out before, or was being carried out: this is what it ended with. */
  readonly isRepeated: boolean;
}

interface InFlight {
  readonly fingerprint: Buffer;
  /** Of whoever carries the request out; its type is that of the operation, which is part of the request. */
  readonly ending: Promise<unknown>;
}

const pollMinMs = 20;
const pollMaxMs = 250;

/**
 * Answers a repeated request with its first outcome (contract §10). A request is claimed in the state store, runs, and its outcome is kept: by the very
 * commit that changes something for it, where the operation says so (`outcomeSteps`). A claim is renewed while its request runs; that of an instance
 * that died ends soon, and the next repetition runs. Who lost a claim cannot commit an outcome, and answers what the next one came to.
 */
export class KeptAnswers {
  readonly #store: StateStore;
  readonly #tokenMac: TokenMac;
  readonly #claims: Claims;
  readonly #keepMs: number;
  readonly #inFlight = new Map<string, InFlight>();

  private constructor(store: StateStore, tokenMac: TokenMac, claims: Claims, keepMs: number) {
    this.#store = store;
    this.#tokenMac = tokenMac;
    this.#claims = claims;
    this.#keepMs = keepMs;
  }

  /** `keepMs`: for how long an answer is kept; `claimMs`: how soon after an instance's death its requests can be carried out by another. */
  static async open(store: StateStore, tokenMac: TokenMac, { keepMs = 24 * 3_600_000, claimMs = 10_000 } = {}): Promise<KeptAnswers> {
    return new KeptAnswers(store, tokenMac, await Claims.open(store, claimMs), keepMs);
  }

  stop(): void {
    this.#claims.stop();
  }

  /**
   * Carries the request out, unless it has been before. A duplicate of one that is on its way waits for it and ends as it does, whatever that is.
   * @throws {OtherRequest}
   * @throws what `run` throws, and what the token and the store throw where they are not available
   */
  async once<T>(request: RepeatableRequest, repeatable: Repeatable<T>): Promise<Repetition<T>> {
    const secrets = await RequestSecrets.of(request, this.#tokenMac);
    const first = this.#inFlight.get(secrets.id);
    if (first !== undefined) {
      if (!first.fingerprint.equals(secrets.fingerprint)) throw new OtherRequest();
      return { ending: ((await first.ending) as Repetition<T>).ending, isRepeated: true };
    }
    const ending = this.#carryOut(secrets, repeatable).finally(() => {
      this.#inFlight.delete(secrets.id);
    });
    this.#inFlight.set(secrets.id, { fingerprint: secrets.fingerprint, ending });
    return ending;
  }

  async #carryOut<T>(secrets: RequestSecrets, repeatable: Repeatable<T>): Promise<Repetition<T>> {
    for (let pauseMs = pollMinMs; ; pauseMs = Math.min(2 * pauseMs, pollMaxMs)) {
      const claim = randomUUID();
      const found = await this.#claims.claim(secrets, claim);
      if (found === 'claimed') {
        const ending = await this.#claims.whileRenewed(claim, async () => this.#runClaimed(secrets, claim, repeatable));
        if (ending !== 'lost') return { ending: ending.value, isRepeated: false };
        continue;
      }
      if (!secrets.fingerprint.equals(found.fingerprint)) throw new OtherRequest();
      if (found.claim === null) {
        const text = await secrets.open(await sealedAnswer(this.#store, found));
        return { ending: repeatable.endingOf(text), isRepeated: true };
      }
      await delay(pauseMs);
    }
  }

  /** `lost`: the claim had ended, and somebody else has the request now or has answered it. */
  async #runClaimed<T>(secrets: RequestSecrets, claim: string, repeatable: Repeatable<T>): Promise<'lost' | { readonly value: T }> {
    const settlement = new Settlement(this.#store, { secrets, claim, keepMs: this.#keepMs }, (outcome) =>
      repeatable.textOf(repeatable.settled(outcome)),
    );
    let value: T;
    try {
      value = await keepingOutcome(settlement, async () => repeatable.run());
    } catch (error) {
      await this.#claims.release(secrets.id, claim).catch(() => undefined);
      throw error;
    }
    const text = repeatable.textOf(value);
    // The operation ended as it said it would, so the commit with its outcome was done.
    if (text !== undefined && text === settlement.said) return { value };
    if (text === undefined) return (await this.#isReleased(secrets, claim)) ? { value } : 'lost';
    try {
      await this.#store.commit([await settlement.keeping(text)]);
      return { value };
    } catch (error) {
      if (await this.#claims.release(secrets.id, claim)) throw error;
      return 'lost';
    }
  }

  /** A claim that cannot be released now ends by itself. */
  async #isReleased({ id }: RequestSecrets, claim: string): Promise<boolean> {
    return this.#claims.release(id, claim).catch(() => true);
  }
}
