import { createHash } from 'node:crypto';
import { Fault, isFault, refusalOf } from '../../faults.ts';
import type { Refusal } from '../../result-codes.ts';
import type { StateStore } from '../../state/state-store.ts';
import { step, type Step } from '../../state/step.ts';
import { tokenAt } from './compact.ts';

/** Beyond what a token is accepted for, since clocks of instances differ. */
const marginSeconds = 600;
const pruneEveryMs = 60_000;
const pruneRows = 1000;

/** What makes a token one of a kind. */
export interface UniqueToken {
  readonly issuer: string;
  readonly id: string;
  /** Seconds since epoch, clock tolerance included. */
  readonly endsAtSeconds: number;
}

/**
 * Tokens that were used up, until they end by themselves: in the state store, so that no instance
 * takes one a second time.
 */
export class UsedTokens {
  readonly #store: StateStore;
  #prunedAtMs = -Infinity;

  constructor(store: StateStore) {
    this.#store = store;
  }

  /** Before anything is made for it. @throws {Refusal} ISSUANCE_REFUSED */
  async check(token: UniqueToken): Promise<void> {
    await this.#prune();
    if (await this.#store.run('isIdentityTokenUsed', idOf(token))) throw alreadyUsed(new Fault('IDENTITY_TOKEN_USED'));
  }

  /**
   * Uses the token up, in the commit of what was made for it. Where it is used already, nothing of
   * the commit is done.
   */
  use(token: UniqueToken): Step {
    const { id, until } = usedToken(token);
    return step('useIdentityToken', { id, ends_at: until });
  }

  async #prune(): Promise<void> {
    const now = performance.now();
    if (now - this.#prunedAtMs < pruneEveryMs) return;
    this.#prunedAtMs = now;
    await this.#store.run('pruneIdentityTokens', { now: this.#store.now(), limit: pruneRows });
  }
}

/**
 * What a commit failed with, as the caller reads it: the refusal where the token was used
 * meanwhile.
 */
export function refusalOfUse(error: unknown): unknown {
  return isFault(error, 'IDENTITY_TOKEN_USED') ? alreadyUsed(error) : error;
}

function alreadyUsed(fault: Fault): Refusal {
  return refusalOf(fault, { at: tokenAt, message: 'the token has been used before, and it is for one certificate' });
}

/** What it is known by once it is used up, and until when, milliseconds since epoch. */
export function usedToken(token: UniqueToken): { readonly id: string; readonly until: number } {
  return { id: idOf(token), until: Math.ceil((token.endsAtSeconds + marginSeconds) * 1000) };
}

/** No table tells who was issued what. */
function idOf({ issuer, id }: UniqueToken): string {
  return createHash('sha256')
    .update(JSON.stringify([issuer, id]))
    .digest('hex');
}
