import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { TokenMac } from '../sealed-parts/secrets.ts';
import { keepingOutcome, type SettledOutcome } from '../state/settlement.ts';
import type { StateStore } from '../state/state-store.ts';
import type { KeptBytes } from '../state/repositories/kept-bytes.ts';
import type { WorkThreads } from '../threads/work-threads.ts';
import { answerOf, areSame, formOf, type AnswerForm } from './answer-form.ts';
import { readAnswer } from './answer-parts.ts';
import { Claims } from './claims.ts';
import { RequestSecrets, type RepeatableRequest } from './request-secrets.ts';
import { Settlement } from './settlement.ts';

/** The Idempotency-Key was used with another body (HTTP 422). */
export class OtherRequest extends Error {
  constructor() {
    super('this Idempotency-Key was used with another body');
    this.name = 'OtherRequest';
  }
}

/** How a request is carried out, and which of its endings are kept. */
export interface Repeatable<T> {
  run(): Promise<T>;
  isKept(ending: T): boolean;
  /** What was kept as an ending: JSON, with LongAnswers where they were. */
  endingOf(kept: unknown): T;
  /** What an outcome that the operation settles becomes. */
  settled(outcome: SettledOutcome): T;
}

/** What answers are kept with, and how much of them. */
export interface Keeper {
  readonly store: StateStore;
  readonly tokenMac: TokenMac;
  readonly threads: WorkThreads;
  /** Bytes that may be kept for a client, and for all of them. */
  limits(): KeptBytes;
  /** For how long an answer is kept. */
  readonly keepMs?: number;
  /** How soon after an instance's death its requests can be carried out by another. */
  readonly claimMs?: number;
}

export interface Repetition<T> {
  readonly ending: T;
  /**
   * The request had been carried out before, or was being carried out: this is what it ended with.
   */
  readonly isRepeated: boolean;
}

interface InFlight {
  readonly fingerprint: Buffer;
  /**
   * Of whoever carries the request out; its type is that of the operation, which is part of the
   * request.
   */
  readonly ending: Promise<unknown>;
}

const pollMinMs = 20;
const pollMaxMs = 250;

/**
 * Answers a repeated request with its first outcome (contract §10). A request is claimed in the
 * state store, runs, and its outcome is kept: by the very commit that changes something for it,
 * where the operation says so (`outcomeSteps`). A claim is renewed while its request runs; that of
 * an instance that died ends soon, and the next repetition runs. Who lost a claim cannot commit an
 * outcome, and answers what the next one came to.
 */
export class KeptAnswers {
  readonly #keeper: Keeper;
  readonly #claims: Claims;
  readonly #inFlight = new Map<string, InFlight>();
  /** What the answers to requests that run may take, by client. */
  readonly #coming = new Map<string, number>();

  private constructor(keeper: Keeper, claims: Claims) {
    this.#keeper = keeper;
    this.#claims = claims;
  }

  static async open(keeper: Keeper): Promise<KeptAnswers> {
    return new KeptAnswers(keeper, await Claims.open(keeper.store, keeper.claimMs ?? 10_000));
  }

  /** Bytes that are kept in all, of a minute ago at most. */
  get keptBytes(): number {
    return this.#claims.keptBytes;
  }

  stop(): void {
    this.#claims.stop();
  }

  /**
   * Carries the request out, unless it has been before. A duplicate of one that is on its way waits
   * for it and ends as it does, whatever that is.
   * @throws {OtherRequest}
   * @throws {KeptAnswersFull} if it had to be carried out, and nothing more is kept
   * @throws what `run` throws, and what the token and the store throw where they are not available
   */
  async once<T>(request: RepeatableRequest, repeatable: Repeatable<T>): Promise<Repetition<T>> {
    const secrets = await RequestSecrets.of(request, this.#keeper.tokenMac, this.#keeper.threads);
    const first = this.#inFlight.get(secrets.id);
    if (first !== undefined) {
      if (!first.fingerprint.equals(secrets.fingerprint)) throw new OtherRequest();
      return { ending: ((await first.ending) as Repetition<T>).ending, isRepeated: true };
    }
    const room = this.#room(request.client);
    this.#comes(request.client, request.bodyBytes);
    const ending = this.#carryOut(secrets, repeatable, room).finally(() => {
      this.#inFlight.delete(secrets.id);
      this.#comes(request.client, -request.bodyBytes);
    });
    this.#inFlight.set(secrets.id, { fingerprint: secrets.fingerprint, ending });
    return ending;
  }

  /** What may be kept already: the answers that are on their way need the rest. */
  #room(client: string): KeptBytes {
    const limits = this.#keeper.limits();
    const coming = [...this.#coming.values()].reduce((sum, bytes) => sum + bytes, 0);
    return { client: limits.client - (this.#coming.get(client) ?? 0), all: limits.all - coming };
  }

  #comes(client: string, bytes: number): void {
    const coming = (this.#coming.get(client) ?? 0) + bytes;
    if (coming === 0) this.#coming.delete(client);
    else this.#coming.set(client, coming);
  }

  async #carryOut<T>(secrets: RequestSecrets, repeatable: Repeatable<T>, room: KeptBytes): Promise<Repetition<T>> {
    for (let pauseMs = pollMinMs; ; pauseMs = Math.min(2 * pauseMs, pollMaxMs)) {
      const claim = randomUUID();
      const found = await this.#claims.claim(secrets, claim, room);
      if (found === 'claimed') {
        const ending = await this.#claims.whileRenewed(claim, async () => this.#runClaimed(secrets, claim, repeatable));
        if (ending !== 'lost') return { ending: ending.value, isRepeated: false };
        continue;
      }
      if (!secrets.fingerprint.equals(found.fingerprint)) throw new OtherRequest();
      if (found.claim === null) {
        const kept = await readAnswer(this.#keeper.store, secrets, found);
        return { ending: repeatable.endingOf(answerOf(kept)), isRepeated: true };
      }
      await delay(pauseMs);
    }
  }

  /** `lost`: the claim had ended, and somebody else has the request now or has answered it. */
  async #runClaimed<T>(secrets: RequestSecrets, claim: string, repeatable: Repeatable<T>): Promise<'lost' | { readonly value: T }> {
    const { store, keepMs = 24 * 3_600_000 } = this.#keeper;
    const form = (ending: T): AnswerForm | undefined => (repeatable.isKept(ending) ? formOf(ending) : undefined);
    const settlement = new Settlement(store, { secrets, claim, keepMs, counter: this.#claims.counter }, (outcome) =>
      form(repeatable.settled(outcome)),
    );
    let value: T;
    try {
      value = await keepingOutcome(settlement, async () => repeatable.run());
    } catch (error) {
      await this.#claims.release(secrets.id, claim).catch(() => undefined);
      throw error;
    }
    const kept = form(value);
    if (kept === undefined) return (await this.#isReleased(secrets, claim)) ? { value } : 'lost';
    // The operation ended as it said it would, so the commit with its outcome was done.
    if (settlement.said !== undefined && areSame(kept, settlement.said)) return { value };
    try {
      await store.commit([await settlement.keeping(kept)]);
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
