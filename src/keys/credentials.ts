import { Refusal } from '../result-codes.ts';
import type { ActivatableKey } from './key-record.ts';

/**
 * Actions that a secret authorises; a one-time password authorises exactly one of them (contract
 * §6).
 */
export const otpActions = ['SIGN', 'CHANGE_PASSWORD', 'REVOKE'] as const;
export type OtpAction = (typeof otpActions)[number];

/**
 * Also the actions of the Cloud Signature Consortium's interface: to authorise signatures, and to
 * exchange activation data for new data.
 */
export type SecretAction = OtpAction | 'AUTHORISE' | 'EXTEND';

/** Credentials that a caller sends with the reference of a key. */
export interface Credentials {
  readonly password?: string | undefined;
  readonly authToken?: string | undefined;
  readonly transactionId?: string | undefined;
}

/**
 * The secret that activates a key, and the transaction that it must be bound to. A `password` is the
 * key's own or a one-time password, a `pin` is only the key's own, an `otp` only a one-time
 * password, a `sad` signature activation data. If the member is `transactionId`: the identifier
 * alone, for requests that need no secret.
 */
export interface GivenSecret {
  readonly member: 'password' | 'pin' | 'otp' | 'authToken' | 'transactionId' | 'sad';
  readonly bytes: Uint8Array;
  readonly transactionId: string | undefined;
  /** Only with `sad`. */
  readonly data?: NamedActivationData | undefined;
}

/** Identifies activation data, and the client that gives it. */
export interface NamedActivationData {
  readonly otpId: string;
  /** SHA-256 of the SubjectPublicKeyInfo of the client. */
  readonly client: string;
}

/**
 * Returns the secret that counts for the key; a secret in the wrong member is ignored. The
 * authToken of a single-use key is its secret. Its removal or revocation may also be authorised by
 * a one-time password, which is a `password`.
 */
export function givenSecret(key: ActivatableKey, action: OtpAction, credentials: Credentials): GivenSecret | undefined {
  const { password, authToken, transactionId } = credentials;
  if (key.protocol === 'SINGLE_USE' && authToken !== undefined) {
    return { member: 'authToken', bytes: Buffer.from(authToken), transactionId };
  }
  if (password === undefined || (key.protocol === 'SINGLE_USE' && action === 'SIGN')) return undefined;
  return { member: 'password', bytes: passwordBytes(password), transactionId };
}

/**
 * As `givenSecret`, for operations that require a secret. `at`: JSON Pointer of the object that has
 * the members.
 * @throws {Refusal} FIELD_MISSING
 */
export function requiredSecret(key: ActivatableKey, action: OtpAction, credentials: Credentials, at = '/keyReference'): GivenSecret {
  const given = givenSecret(key, action, credentials);
  if (given !== undefined) return given;
  if (key.protocol === 'SINGLE_USE') {
    throw new Refusal('FIELD_MISSING', { at: `${at}/authToken`, message: 'the key is activated by its authToken, which is required' });
  }
  const what = key.protocol === 'OTP' ? 'by a one-time password from sendOTP' : 'by a password';
  throw new Refusal('FIELD_MISSING', { at: `${at}/password`, message: `the key is activated ${what}, which is required` });
}

/** Returns the password as it is compared: NFC, UTF-8. */
export function passwordBytes(password: string): Uint8Array {
  return Buffer.from(password.normalize('NFC'));
}
