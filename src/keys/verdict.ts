import type { Refusal } from '../result-codes.ts';
import type { KeyChange } from '../state/repositories/uses.ts';
import type { SettledOutcome } from '../state/settlement.ts';
import type { CommittedPurpose } from './settling.ts';

/** The token's answer to an attempt: the secret is wrong, or it is right and this follows. */
export type Verdict<T> = { readonly verified: false } | RefusedSecret | GrantedSecret<T>;

interface RightSecret {
  readonly verified: true;
  /** The place of the secret among the candidates. */
  readonly by: number;
  /** A one-time password that was right is used up. */
  readonly usesUp: boolean;
}

/** The caller is refused although the secret is right: the attempt is settled, and nothing further is done. */
export interface RefusedSecret extends RightSecret {
  readonly refusal: Refusal;
}

export interface GrantedSecret<T> extends RightSecret {
  readonly refusal?: undefined;
  /** Committed with the settlement. */
  readonly change?: KeyChange | undefined;
  /** What the secret is for, where another room does it: committed with the settlement, so that both are done or neither. */
  readonly purpose?: CommittedPurpose | undefined;
  /** What is left to do. With a secret of one use it comes first: if it fails, the secret is given back. */
  readonly finish: () => Promise<T>;
  /** What the caller is answered, so that the settlement keeps it. */
  readonly answer?: (value: T) => object;
}

/** What the secret was for is done by the settlement, which holds only what it found to be so. */
export function isCommitted<T>({ change, purpose }: GrantedSecret<T>): boolean {
  return change !== undefined || purpose !== undefined;
}

/** What the caller is told, where that is known by now. */
export function outcomeOf<T>(
  verdict: RefusedSecret | GrantedSecret<T>,
  done: { readonly value: T } | undefined,
): SettledOutcome | undefined {
  if (verdict.refusal !== undefined) return { refusal: verdict.refusal };
  const answer = (done === undefined ? undefined : verdict.answer?.(done.value)) ?? verdict.purpose?.answer;
  return answer === undefined ? undefined : { answer };
}
