import type { Refusal } from '../result-codes.ts';
import type { KeyChange } from '../state/repositories/uses.ts';
import type { SettledOutcome } from '../state/settlement.ts';
import type { CommittedPurpose } from './settling.ts';

/** Result of an attempt on the token: the secret is wrong, or it is right and this follows. */
export type Verdict<T> = { readonly verified: false } | RefusedSecret | GrantedSecret<T>;

interface RightSecret {
  readonly verified: true;
  /** Index of the secret among the candidates. */
  readonly by: number;
  /** True if the verified one-time password is used up. */
  readonly usesUp: boolean;
}

/** A refusal despite a right secret: the attempt is settled, and nothing further is done. */
export interface RefusedSecret extends RightSecret {
  readonly refusal: Refusal;
}

export interface GrantedSecret<T> extends RightSecret {
  readonly refusal?: undefined;
  /** Change committed with the settlement. */
  readonly change?: KeyChange | undefined;
  /** Action of another room, committed with the settlement, so that both are done or neither. */
  readonly purpose?: CommittedPurpose | undefined;
  /**
   * Work left to do. For a single-use secret, it is done first: if it fails, the secret is given
   * back.
   */
  readonly finish: () => Promise<T>;
  /** Makes the caller's answer, so that the settlement can keep it. */
  readonly answer?: (value: T) => object;
}

/**
 * Checks whether the settlement itself does what the secret authorises, under the conditions that
 * it checks.
 */
export function isCommitted<T>({ change, purpose }: GrantedSecret<T>): boolean {
  return change !== undefined || purpose !== undefined;
}

/** Returns the outcome for the caller, if it is already known. */
export function outcomeOf<T>(
  verdict: RefusedSecret | GrantedSecret<T>,
  done: { readonly value: T } | undefined,
): SettledOutcome | undefined {
  if (verdict.refusal !== undefined) return { refusal: verdict.refusal };
  const answer = (done === undefined ? undefined : verdict.answer?.(done.value)) ?? verdict.purpose?.answer;
  return answer === undefined ? undefined : { answer };
}
