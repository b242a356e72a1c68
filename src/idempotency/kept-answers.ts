import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { SealingKey, SealingKeys } from '../sealed-parts/sealing-keys.ts';
import { keepingOutcome, type SettledOutcome } from '../state/settlement.ts';
import type { StateStore } from '../state/state-store.ts';
import type { KeptBytes } from '../state/repositories/kept-bytes.ts';
import type { WorkThreads } from '../threads/work-threads.ts';
import { answerOf, areSame, formOf, type AnswerForm } from './answer-form.ts';
import { readAnswer } from './answer-parts.ts';
import { Claims, KeptAnswersFull } from './claims.ts';
import { formerIds, nameOf, RequestSecrets, type RepeatableRequest } from './request-secrets.ts';
import { Settlement } from './settlement.ts';

/** Thrown if the Idempotency-Key was used with another body (HTTP 422). */
export class OtherRequest extends Error {
  constructor() {
    super('this Idempotency-Key was used with another body');
    this.name = 'OtherRequest';
  }
}

/** How to run a request, and which of its endings are kept. */
export interface Repeatable<T> {
  run(): Promise<T>;
  isKept(ending: T): boolean;
  /** Whether the run stopped, without any effect, since its client was gone. */
  isStopped?(ending: T): boolean;
  /** Restores a kept ending: JSON, with LongAnswers in place. */
  endingOf(kept: unknown): T;
  /** Makes the ending for an outcome that the operation settles. */
  settled(outcome: SettledOutcome): T;
}

/** Secrets and limits for keeping answers. */
export interface Keeper {
  readonly store: StateStore;
  readonly keys: SealingKeys;
  readonly threads: WorkThreads;
  /** Maximum bytes kept for a client (SHA-256 of its key), for its tenant, and for all clients. */
  limits(client: string, tenant: string): KeptBytes;
  /** Told of each request that is refused for want of room. */
  refused?(tenant: string, whose: keyof KeptBytes): void;
  /** How long an answer is kept. */
  readonly keepMs?: number;
  /** How soon after an instance's death others can run its requests. */
  readonly claimMs?: number;
}

export interface Repetition<T> {
  readonly ending: T;
  /** True if the request had already been run, or was running: this is its ending. */
  readonly isRepeated: boolean;
}

/** What a request is known by in the state store. */
interface Names {
  readonly secrets: RequestSecrets;
  /** Former keys, by the identifiers of the request under them. */
  readonly former: ReadonlyMap<string, SealingKey>;
}

interface InFlight {
  readonly secrets: RequestSecrets;
  /**
   * Ending of the running request; its type is that of the operation, which is part of the request.
   */
  readonly ending: Promise<unknown>;
}

const pollMinMs = 20;
const pollMaxMs = 250;

/**
 * Answers a repeated request with its first outcome (contract §10). A request is claimed in the
 * state store, runs, and its outcome is kept: by the very commit that makes its change, if the
 * operation says so (`outcomeSteps`). A claim is renewed while its request runs; the claim of an
 * instance that died expires soon, and the next repetition runs. An instance that lost its claim
 * cannot commit an outcome, and answers with the next one.
 */
export class KeptAnswers {
  readonly #keeper: Keeper;
  readonly #claims: Claims;
  readonly #inFlight = new Map<string, InFlight>();
  /**
   * Estimated bytes of the answers to running requests: those of a client, those of a tenant, and
   * all.
   */
  readonly #coming = new Map<string, number>();

  private constructor(keeper: Keeper, claims: Claims) {
    this.#keeper = keeper;
    this.#claims = claims;
  }

  static async open(keeper: Keeper): Promise<KeptAnswers> {
    return new KeptAnswers(keeper, await Claims.open(keeper.store, keeper.claimMs ?? 10_000));
  }

  /** Bytes kept in all, at most a minute old. */
  get keptBytes(): number {
    return this.#claims.keptBytes;
  }

  stop(): void {
    this.#claims.stop();
  }

  /**
   * Runs the request, unless it was already run. A duplicate of a running request waits for it and
   * has the same ending, whatever it is, unless that stopped because its client was gone.
   * @throws {OtherRequest}
   * @throws {KeptAnswersFull} if the request had to be run and the limit is reached
   * @throws the errors of `run`, and those of the token and the store if they are unavailable
   */
  async once<T>(request: RepeatableRequest, repeatable: Repeatable<T>): Promise<Repetition<T>> {
    const names = await this.#names(request);
    const name = nameOf(request).toString();
    for (let first = this.#inFlight.get(name); first !== undefined; first = this.#inFlight.get(name)) {
      await this.#checkSame(request, names.secrets, first.secrets);
      const { ending } = (await first.ending) as Repetition<T>;
      if (repeatable.isStopped?.(ending) !== true) return { ending, isRepeated: true };
    }
    const room = this.#room(request);
    this.#comes(request, request.bodyBytes);
    const ending = this.#carryOut(request, names, repeatable, room)
      .catch((error: unknown) => {
        if (error instanceof KeptAnswersFull) this.#keeper.refused?.(request.tenant, error.whose);
        throw error;
      })
      .finally(() => {
        this.#inFlight.delete(name);
        this.#comes(request, -request.bodyBytes);
      });
    this.#inFlight.set(name, { secrets: names.secrets, ending });
    return ending;
  }

  async #names(request: RepeatableRequest): Promise<Names> {
    return this.#keeper.keys.using(async (keys) => ({
      secrets: await RequestSecrets.of(request, keys.current, this.#keeper.threads),
      former: await formerIds(request, keys),
    }));
  }

  /**
   * Checks that a request is the one that was claimed, maybe under another key.
   * @throws {OtherRequest}
   */
  async #checkSame(
    request: RepeatableRequest,
    own: RequestSecrets,
    of: { readonly key: SealingKey; readonly fingerprint: Uint8Array },
  ): Promise<RequestSecrets> {
    const secrets = own.key.id === of.key.id ? own : await RequestSecrets.of(request, of.key, this.#keeper.threads);
    if (!secrets.fingerprint.equals(of.fingerprint)) throw new OtherRequest();
    return secrets;
  }

  /** Returns the limits on the bytes already kept, less the estimate for running requests. */
  #room(request: RepeatableRequest): KeptBytes {
    const limits = this.#keeper.limits(request.client, request.tenant);
    const names = sharesOf(request);
    const left = (share: keyof KeptBytes): number => limits[share] - (this.#coming.get(names[share]) ?? 0);
    return { client: left('client'), tenant: left('tenant'), all: left('all') };
  }

  #comes(request: RepeatableRequest, bytes: number): void {
    for (const name of Object.values(sharesOf(request))) {
      const coming = (this.#coming.get(name) ?? 0) + bytes;
      if (coming === 0) this.#coming.delete(name);
      else this.#coming.set(name, coming);
    }
  }

  async #carryOut<T>(request: RepeatableRequest, first: Names, repeatable: Repeatable<T>, room: KeptBytes): Promise<Repetition<T>> {
    let names = first;
    for (let pauseMs = pollMinMs; ; pauseMs = Math.min(2 * pauseMs, pollMaxMs)) {
      const claim = randomUUID();
      const { secrets, former } = names;
      const found = await this.#claims.claim(secrets, [...former.keys()], claim, room);
      if (found === 'other key') {
        await this.#keeper.keys.reread();
        names = await this.#names(request);
        continue;
      }
      if (found === 'claimed') {
        const ending = await this.#claims.whileRenewed(claim, async () => this.#runClaimed(secrets, claim, repeatable));
        if (ending !== 'lost') return { ending: ending.value, isRepeated: false };
        continue;
      }
      const key = former.get(found.id) ?? secrets.key;
      const its = await this.#checkSame(request, secrets, { key, fingerprint: found.fingerprint });
      if (found.claim === null) {
        const kept = await readAnswer(this.#keeper.store, its, found);
        return { ending: repeatable.endingOf(answerOf(kept)), isRepeated: true };
      }
      await delay(pauseMs);
    }
  }

  /**
   * Runs a claimed request. `lost`: the claim had expired, and another instance is running the
   * request or has answered it.
   */
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
    // The operation ended with the outcome that it settled, so the commit was done.
    if (settlement.said !== undefined && areSame(kept, settlement.said)) return { value };
    try {
      await store.commit([await settlement.keeping(kept)]);
      return { value };
    } catch (error) {
      if (await this.#claims.release(secrets.id, claim)) throw error;
      return 'lost';
    }
  }

  /** Releases a claim. A claim that cannot be released now expires. */
  async #isReleased({ id }: RequestSecrets, claim: string): Promise<boolean> {
    return this.#claims.release(id, claim).catch(() => true);
  }
}

/** Names of the shares that a request belongs to. */
function sharesOf({ client, tenant }: RepeatableRequest): Readonly<Record<keyof KeptBytes, string>> {
  return { client: `client ${client}`, tenant: `tenant ${tenant}`, all: 'all' };
}
