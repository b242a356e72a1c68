import { Refusal } from '../result-codes.ts';
import type { KeyRecord } from './key-record.ts';

/** What a secret is given for; a one-time password authorises exactly one of them (contract §6). */
export const otpActions = ['SIGN', 'CHANGE_PASSWORD', 'REVOKE'] as const;
export type OtpAction = (typeof otpActions)[number];

/** What a caller gives beside the reference of a key. */
export interface Credentials {
  readonly password?: string | undefined;
  readonly authToken?: string | undefined;
  readonly transactionId?: string | undefined;
}

/**
 * The secret that a key is to be activated with, and the transaction that it must be tied to. Of member `transactionId`: the identifier alone, where
 * no secret is asked for.
 */
export interface GivenSecret {
  readonly member: 'password' | 'authToken' | 'transactionId';
  readonly bytes: Uint8Array;
  readonly transactionId: string | undefined;
}

/**
 * Which of what was given counts for the key: a secret in the wrong member is none. The authToken of a single-use key is its secret; its end may
 * be authorised by a one-time password too, which is a `password`.
 */
export function givenSecret(key: KeyRecord, action: OtpAction, credentials: Credentials): GivenSecret | undefined {
  const { password, authToken, transactionId } = credentials;
  if (key.protocol === 'SINGLE_USE' && authToken !== undefined) {
    return { member: 'authToken', bytes: Buffer.from(authToken), transactionId };
  }
  if (password === undefined || (key.protocol === 'SINGLE_USE' && action === 'SIGN')) return undefined;
  return { member: 'password', bytes: passwordBytes(password), transactionId };
}

/** The same, where the operation needs one. `at`: JSON Pointer of the object that has the members. @throws {Refusal} FIELD_MISSING */
export function requiredSecret(key: KeyRecord, action: OtpAction, credentials: Credentials, at = '/keyReference'): GivenSecret {
  const given = givenSecret(key, action, credentials);
  if (given !== undefined) return given;
  if (key.protocol === 'SINGLE_USE') {
    throw new Refusal('FIELD_MISSING', { at: `${at}/authToken`, message: 'the key is activated by its authToken, which is required' });
  }
  const what = key.protocol === 'OTP' ? 'by a one-time password from sendOTP' : 'by a password';
  throw new Refusal('FIELD_MISSING', { at: `${at}/password`, message: `the key is activated ${what}, which is required` });
}

/** A password as it is compared: in NFC, as UTF-8. */
export function passwordBytes(password: string): Uint8Array {
  return Buffer.from(password.normalize('NFC'));
}
