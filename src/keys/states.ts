import { Refusal } from '../result-codes.ts';

/** States that are stored. The other two, LOCKED and EXPIRED, follow from counters and times. */
export const storedStates = ['ACTIVE', 'ON_HOLD', 'REVOKED', 'CONSUMED', 'REMOVED', 'LEFT_BEHIND'] as const;
export type StoredState = (typeof storedStates)[number];

/** States that callers see (contract §6). */
export const keyStates = [...storedStates, 'LOCKED', 'EXPIRED'] as const;
export type KeyState = (typeof keyStates)[number];

/** An allowed transition between states. */
export interface Transition {
  readonly from: readonly StoredState[];
  readonly to: StoredState;
  /** True if the private key is destroyed on the token. */
  readonly destroys: boolean;
  /** For the documentation. */
  readonly by: string;
}

/** All allowed transitions of the stored states. A key starts as ACTIVE. */
export const transitions = {
  consume: { from: ['ACTIVE'], to: 'CONSUMED', destroys: true, by: 'the only successful `sign` of a key of `SINGLE_USE`' },
  hold: { from: ['ACTIVE'], to: 'ON_HOLD', destroys: false, by: '`revokeCertificate` with `CERTIFICATE_HOLD`' },
  release: { from: ['ON_HOLD'], to: 'ACTIVE', destroys: false, by: '`revokeCertificate` with `REMOVE_FROM_CRL`' },
  revoke: { from: ['ACTIVE', 'ON_HOLD'], to: 'REVOKED', destroys: false, by: '`revokeCertificate` with any other reason' },
  remove: {
    from: ['ACTIVE', 'ON_HOLD', 'REVOKED'],
    to: 'REMOVED',
    destroys: true,
    by: '`removeKey`, `signetctl key remove`',
  },
  leave: {
    from: ['ACTIVE', 'ON_HOLD', 'REVOKED'],
    to: 'LEFT_BEHIND',
    destroys: false,
    by: '`signetctl token accept`',
  },
} as const satisfies Record<string, Transition>;

/**
 * The uses of a key, and the states that allow them. A lock, which is checked afterwards, prevents
 * all of them.
 */
export const uses = {
  sign: { states: ['ACTIVE'], names: '`sign`' },
  changePassword: { states: ['ACTIVE'], names: '`changePassword`' },
  remove: { states: ['ACTIVE', 'EXPIRED', 'ON_HOLD', 'REVOKED'], names: '`removeKey`' },
  revoke: {
    states: ['ACTIVE', 'ON_HOLD', 'REVOKED', 'CONSUMED', 'REMOVED', 'EXPIRED'],
    names: 'the secret of `revokeCertificate`, `sendOTP` for `REVOKE`',
  },
  check: { states: ['ACTIVE', 'EXPIRED', 'ON_HOLD', 'REVOKED'], names: 'the secret of `checkKey`' },
} as const satisfies Record<string, { readonly states: readonly Exclude<KeyState, 'LOCKED'>[]; readonly names: string }>;

export type Use = keyof typeof uses;

/**
 * Whether the service no longer has the private key of a key in this state: no other state follows.
 */
export function hasEnded(state: string): boolean {
  return state === 'CONSUMED' || state === 'REMOVED' || state === 'LEFT_BEHIND';
}

/** Returns the stored states that allow this use, for the store's own check. */
export function storedStatesFor(use: Use): readonly StoredState[] {
  const allowed: readonly string[] = uses[use].states;
  return storedStates.filter((state) => allowed.includes(state));
}

/** Text for each state, in messages and in the documentation. */
export const stateTexts: Readonly<Record<KeyState, string>> = {
  ACTIVE: 'the key is in use',
  LOCKED: 'the key is locked',
  CONSUMED: 'the single-use key has already made its signature',
  EXPIRED: 'the certificate of the key has expired',
  ON_HOLD: 'the certificate of the key is on hold',
  REVOKED: 'the certificate of the key is revoked',
  REMOVED: 'the key is removed',
  LEFT_BEHIND: 'the key is on a token that the service no longer uses',
};

/** Checks that the state allows the use. @throws {Refusal} KEY_STATE */
export function checkState(state: KeyState, use: Use): void {
  const allowed: readonly KeyState[] = uses[use].states;
  if (!allowed.includes(state)) throw new Refusal('KEY_STATE', { message: stateTexts[state] });
}
