import { createHash } from 'node:crypto';
import { Fault, isFault, refusalOf } from '../../faults.ts';
import type { Refusal } from '../../result-codes.ts';
import type { StateStore } from '../../state/state-store.ts';
import { step, type Step } from '../../state/step.ts';
import { tokenAt } from './compact.ts';

/** Added to the lifetime of a token, since the clocks of instances differ. */
const marginSeconds = 600;
const pruneEveryMs = 60_000;
const pruneRows = 1000;

/** Identification of a token. */
export interface UniqueToken {
  readonly issuer: string;
  readonly id: string;
  /** Seconds since epoch, clock tolerance included. */
  readonly endsAtSeconds: number;
}

/**
 * Used tokens, kept in the state store until they expire, so that no instance accepts one twice.
 */
export class UsedTokens {
  readonly #store: StateStore;
  #prunedAtMs = -Infinity;

  constructor(store: StateStore) {
    this.#store = store;
  }

  /**
   * Checks that a token is unused, before anything is made for it.
   * @throws {Refusal} ISSUANCE_REFUSED
   */
  async check(token: UniqueToken): Promise<void> {
    await this.#prune();
    if (await this.#store.run('isIdentityTokenUsed', idOf(token))) throw alreadyUsed(new Fault('IDENTITY_TOKEN_USED'));
  }

  /**
   * Returns the step that marks the token as used, for the commit that makes the certificate. If it
   * is already used, nothing is committed.
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
 * Returns the error of a commit as the caller sees it: the refusal, if the token was used
 * meanwhile.
 */
export function refusalOfUse(error: unknown): unknown {
  return isFault(error, 'IDENTITY_TOKEN_USED') ? alreadyUsed(error) : error;
}

function alreadyUsed(fault: Fault): Refusal {
  return refusalOf(fault, { at: tokenAt, message: 'the token is already used, and is valid for one certificate only' });
}

/** Returns the identifier of a used token, and when it expires, in milliseconds since epoch. */
export function usedToken(token: UniqueToken): { readonly id: string; readonly until: number } {
  return { id: idOf(token), until: Math.ceil((token.endsAtSeconds + marginSeconds) * 1000) };
}

/** Returns the identifier as a hash, so that no table shows who received a certificate. */
function idOf({ issuer, id }: UniqueToken): string {
  return createHash('sha256')
    .update(JSON.stringify([issuer, id]))
    .digest('hex');
}
