import { randomBytes } from 'node:crypto';
import { Refusal } from '../result-codes.ts';
import type { OtpRow } from '../state/tables/keys.ts';
import { isStoredMac } from '../token/mac-generation.ts';
import type { SignatureAlgorithm } from '../token/signature-algorithm.ts';
import { KeyGone, KeyHeldBack, type Proof, type ProofOutcome, type SecretKind, type SignOutcome, type Token } from '../token/token.ts';
import type { GivenSecret, SecretAction } from './credentials.ts';
import { bindingOf, type DigestBinding } from './digest-binding.ts';
import type { ActivatableKey, StoredSecret } from './key-record.ts';
import { otpScope } from './seals.ts';
import type { Verdict } from './settling.ts';

declare const purposeOf: unique symbol;

/** A stored secret that the given one may match. */
export interface PossibleSecret extends Proof {
  /** The documents that this secret allows, if fewer than the key allows. */
  readonly binding: DigestBinding;
  /** The row of activation data, if the secret is that. */
  readonly data?: OtpRow | undefined;
}

/**
 * A counted attempt: the key, the candidates for the given secret, and the transaction. Only
 * activation creates one, and a caller's key signs only by `signReserved`, which takes one.
 */
export interface Reserved<P extends SecretAction> {
  readonly [purposeOf]: P;
  readonly key: ActivatableKey;
  /**
   * The key's own secret that the candidates were made from; the record may have another one when
   * the token answers.
   */
  readonly own: StoredSecret | undefined;
  readonly candidates: readonly PossibleSecret[];
  readonly also: Proof | undefined;
}

export const otpKinds = {
  SIGN: 'OTP_SIGN',
  CHANGE_PASSWORD: 'OTP_CHANGE_PASSWORD',
  REVOKE: 'OTP_REVOKE',
  AUTHORISE: 'OTP_AUTHORISE',
} as const satisfies Record<Exclude<SecretAction, 'EXTEND'>, SecretKind>;

/**
 * The actions of activation data as its rows name them, which are also the kinds of its secrets.
 */
export const dataActions = ['SAD', 'SAD_REST'] as const;

export interface Attempting {
  readonly key: ActivatableKey;
  /** The key's own secret as it was when the attempt began. */
  readonly own: StoredSecret | undefined;
  readonly given: GivenSecret;
  readonly action: SecretAction;
  /** The key's own password in the form that its MAC covers. */
  readonly ownSecret: Uint8Array;
  /**
   * The open one-time password for the action. `undefined`: there is none; `unasked`: not looked
   * up, since the key's own password was given.
   */
  readonly otp: OtpRow | undefined | 'unasked';
}

/**
 * Makes a reserved attempt; for activation only. If no one-time password is open, a dummy is
 * compared anyway, so that the time reveals nothing.
 */
export function reserve<P extends SecretAction>({ key, own, given, action, ownSecret, otp }: Attempting): Reserved<P> {
  const candidates: PossibleSecret[] = [];
  const { scope } = key.seal;
  if (given.member === 'transactionId') {
    const alone = {
      key,
      own,
      candidates: [{ ...transactionOf(key, given.transactionId), binding: undefined }],
      also: undefined,
    };
    return alone as Omit<Reserved<P>, typeof purposeOf> as Reserved<P>;
  }
  if (given.member === 'sad') {
    const row = otp === 'unasked' ? undefined : otp;
    const data = { ...otpCandidate(dataKind(row), row, given.bytes, { scope, secretMac: own?.mac ?? null }), data: row };
    // Its transaction was checked when it was authorised.
    const alone = { key, own, candidates: [data], also: undefined };
    return alone as Omit<Reserved<P>, typeof purposeOf> as Reserved<P>;
  }
  if (given.member === 'authToken') {
    candidates.push({ ...proof('AUTH_TOKEN', own, given.bytes, scope), binding: undefined });
  } else {
    if (key.protocol === 'PASSWORD' && given.member !== 'otp') {
      candidates.push({ ...proof('PASSWORD', own, ownSecret, scope), binding: undefined });
    }
    if (otp !== 'unasked' && given.member !== 'pin') {
      candidates.push(otpCandidate(kindOfOtp(action), otp, given.bytes, { scope, secretMac: null }));
    }
  }
  const attempt: Omit<Reserved<P>, typeof purposeOf> = { key, own, candidates, also: transactionProof(key, given.transactionId) };
  return attempt as Reserved<P>;
}

/** The kind of a one-time password for an action. Activation data is exchanged without one. */
function kindOfOtp(action: SecretAction): SecretKind {
  if (action === 'EXTEND') throw new Error('activation data alone is exchanged for new data');
  return otpKinds[action];
}

function dataKind(row: OtpRow | undefined): SecretKind {
  return dataActions.find((name) => name === row?.action) ?? 'SAD';
}

/**
 * Makes the candidate for a one-time password. A row that cannot be read was not written by the
 * service, and verifies nothing.
 */
function otpCandidate(
  kind: SecretKind,
  otp: OtpRow | undefined,
  secret: Uint8Array,
  { scope, secretMac }: { readonly scope: Uint8Array; readonly secretMac: Uint8Array | null },
): PossibleSecret {
  if (otp === undefined || !isReadable(otp)) return { ...proof(kind, undefined, secret, scope), binding: undefined };
  const stored = { salt: otp.salt, mac: otp.mac, stretched: false };
  return { ...proof(kind, stored, secret, otpScope(scope, otp, secretMac)), binding: bindingOf(otp.bound_digests) };
}

function isReadable({ salt, mac, bound_digests: digests }: OtpRow): boolean {
  try {
    bindingOf(digests);
    return salt.length === 16 && isStoredMac(mac);
  } catch {
    return false;
  }
}

/**
 * Undefined if the key is bound to no transaction and none is given; whatever else does not fit
 * fails on the token.
 */
function transactionProof(key: ActivatableKey, given: string | undefined): Proof | undefined {
  if (key.transaction === undefined && given === undefined) return undefined;
  return transactionOf(key, given);
}

/** Makes the proof of a required transaction. A missing one is never right. */
function transactionOf({ transaction, seal }: ActivatableKey, given: string | undefined): Proof {
  return proof('TRANSACTION', given === undefined ? undefined : transaction, Buffer.from(given ?? ''), seal.scope);
}

/** Makes a proof; without a stored secret, it never verifies. */
function proof(kind: SecretKind, stored: StoredSecret | undefined, secret: Uint8Array, scope: Uint8Array): Proof {
  return { kind, salt: stored?.salt ?? randomBytes(16), mac: stored?.mac ?? randomBytes(32), secret, scope };
}

/**
 * Checks whether the failures counted on a key are guesses at a secret of this kind: at its own
 * secret, or at one-time passwords if it has none of its own. Otherwise, a caller who receives
 * one-time passwords could reset the count between guesses at the password.
 */
export function isGuarded({ kind }: PossibleSecret, { protocol }: ActivatableKey): boolean {
  if (kind === 'TRANSACTION' || isActivationData(kind)) return false;
  return (protocol === 'OTP') === kind.startsWith('OTP_');
}

export function isActivationData(kind: SecretKind): boolean {
  return dataActions.some((name) => name === kind);
}

/** Returns the candidate that the token verified, by its index. */
export function secretAt<P extends SecretAction>({ candidates }: Reserved<P>, by: number): PossibleSecret {
  const secret = candidates[by];
  if (secret === undefined) throw new Error(`the token named candidate ${by} of ${candidates.length}`);
  return secret;
}

/**
 * Verifies the secret and signs in one step; if `allows` does not let the secret sign, it is only
 * verified.
 * @throws {Refusal} KEY_STATE if the secret is right and the private key is gone; KEY_LOCKED if the
 *   host has compared too many wrong secrets
 */
export function signReserved(
  token: Pick<Token, 'signWithProof'>,
  { key, candidates, also }: Reserved<'SIGN'>,
  { algorithm, digests }: { readonly algorithm: SignatureAlgorithm; readonly digests: readonly Uint8Array[] },
  allows: (secret: PossibleSecret) => boolean,
): Promise<SignOutcome> {
  const anyOf = candidates.map((candidate) => ({ ...candidate, signs: allows(candidate) }));
  return refusing(key, token.signWithProof(key.id, algorithm, digests, { anyOf, also }));
}

/**
 * Verifies the password of a digital identity's key and signs data zones, in one step.
 * @throws {Refusal} as `signReserved`
 */
export function signZonesReserved(
  token: Pick<Token, 'signAsIdentity'>,
  { key, candidates, also }: Reserved<'SIGN'>,
  { algorithm, zones }: { readonly algorithm: SignatureAlgorithm; readonly zones: readonly Uint8Array[] },
): Promise<SignOutcome> {
  const anyOf = candidates.map((candidate) => ({ ...candidate, signs: true }));
  return refusing(key, token.signAsIdentity(key.id, algorithm, zones, { anyOf, also }));
}

/** Verifies the secret without signing. @throws {Refusal} KEY_LOCKED */
export function verifyReserved(
  token: Pick<Token, 'verifyProof'>,
  { key, candidates, also }: Reserved<SecretAction>,
): Promise<ProofOutcome> {
  const anyOf = candidates.map((candidate) => ({ ...candidate, signs: false }));
  return refusing(key, token.verifyProof(key.id, { anyOf, also }));
}

/** The same, and a right secret is not used up. @throws {Refusal} KEY_LOCKED */
export async function confirmReserved(token: Pick<Token, 'verifyProof'>, reserved: Reserved<SecretAction>): Promise<Verdict> {
  const outcome = await verifyReserved(token, reserved);
  return outcome.verified ? { ...outcome, usesUp: false } : outcome;
}

/**
 * Turns errors of the token into refusals. The record may be older than the token: if the key was
 * consumed or removed since, restarting the host does not help. The host also counts wrong secrets
 * itself; while it compares no more of them, the key is locked, and its record notes until when.
 * @throws {Refusal} KEY_STATE, KEY_LOCKED
 */
export async function refusing<T>(key: Pick<ActivatableKey, 'heldBackUntil'>, work: Promise<T>): Promise<T> {
  try {
    const answer = await work;
    key.heldBackUntil = undefined;
    return answer;
  } catch (cause) {
    if (cause instanceof KeyGone) throw new Refusal('KEY_STATE', { message: 'the private key is no longer on the token', cause });
    if (cause instanceof KeyHeldBack) {
      key.heldBackUntil = cause.until.getTime();
      throw new Refusal('KEY_LOCKED', { message: `the key is locked until ${cause.until.toISOString()}`, cause });
    }
    throw cause;
  }
}
