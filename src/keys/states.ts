import { Refusal } from '../result-codes.ts';

/** States that the store holds. The other two follow from counters and times: LOCKED and EXPIRED. */
export const storedStates = ['ACTIVE', 'ON_HOLD', 'REVOKED', 'CONSUMED', 'REMOVED'] as const;
export type StoredState = (typeof storedStates)[number];

/** Contract §6. */
export const keyStates = [...storedStates, 'LOCKED', 'EXPIRED'] as const;
export type KeyState = (typeof keyStates)[number];

/** A lawful way from one state to another. */
export interface Transition {
  readonly from: readonly StoredState[];
  readonly to: StoredState;
  /** The private key is destroyed on the token. */
  readonly destroys: boolean;
  /** For the documentation. */
  readonly by: string;
}

/** Every lawful transition of the stored states. A key begins as ACTIVE. */
export const transitions = {
  consume: { from: ['ACTIVE'], to: 'CONSUMED', destroys: true, by: 'the one successful `sign` of a key of `SINGLE_USE`' },
  hold: { from: ['ACTIVE'], to: 'ON_HOLD', destroys: false, by: '`revokeCertificate` with `CERTIFICATE_HOLD`' },
  release: { from: ['ON_HOLD'], to: 'ACTIVE', destroys: false, by: '`revokeCertificate` with `REMOVE_FROM_CRL`' },
  revoke: { from: ['ACTIVE', 'ON_HOLD'], to: 'REVOKED', destroys: false, by: '`revokeCertificate` with any other reason' },
  remove: {
    from: ['ACTIVE', 'ON_HOLD', 'REVOKED'],
    to: 'REMOVED',
    destroys: true,
    by: '`removeKey`, `signetctl key remove`',
  },
} as const satisfies Record<string, Transition>;

/** What may be asked of a key, and in which states. A lock, which is looked at afterwards, keeps from all of it. */
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

/** The stored states in which a key may be used so, for the store's own check. */
export function storedStatesFor(use: Use): readonly StoredState[] {
  const allowed: readonly string[] = uses[use].states;
  return storedStates.filter((state) => allowed.includes(state));
}

/** What each state means, in messages and in the documentation. */
export const stateTexts: Readonly<Record<KeyState, string>> = {
  ACTIVE: 'the key is in use',
  LOCKED: 'the key is locked',
  CONSUMED: 'the key has made the one signature that it was for',
  EXPIRED: 'the certificate of the key has expired',
  ON_HOLD: 'the certificate of the key is on hold',
  REVOKED: 'the certificate of the key is revoked',
  REMOVED: 'the key is removed',
};

/** @throws {Refusal} KEY_STATE */
export function checkState(state: KeyState, use: Use): void {
  const allowed: readonly KeyState[] = uses[use].states;
  if (!allowed.includes(state)) throw new Refusal('KEY_STATE', { message: stateTexts[state] });
}
