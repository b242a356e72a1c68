import { z } from 'zod';
import { parseKeyReferenceId } from '../../keys/key-record.ts';
import { Refusal } from '../../result-codes.ts';
import { Sha1Hex, Text } from './values.ts';

/** No key has an empty secret: such a one is a caller's mistake, and costs no attempt. */
const Secret = Text.min(1, 'a secret is not empty');

/** Interface, Key reference. */
export const KeyReference = z.strictObject({
  reference: Sha1Hex.transform((text) => parseKeyReferenceId(text)).describe('names the key: SHA-1 of its certificate, hexadecimal'),
  authToken: Secret.optional(),
  password: Secret.optional(),
  transactionId: Text.optional(),
});
export type KeyReference = z.output<typeof KeyReference>;

/** For the examples of the documentation. */
export const exampleReference = { reference: '2fd4e1c67a2d28fced849ee1bb76e7391b93eb12', password: 'Jv2mZ0lq8xWc4s1tNfR3yQ' };

/**
 * A key has one kind of secret (contract §6), and keys are tied to no transaction so far.
 * @throws {Refusal} FIELDS_INCONSISTENT, UNSUPPORTED
 */
export function checkKeyReference({ authToken, password, transactionId }: KeyReference): void {
  if (authToken !== undefined && password !== undefined) {
    throw new Refusal('FIELDS_INCONSISTENT', {
      at: '/keyReference/authToken',
      message: 'a key has a password or an authToken, and both are given',
    });
  }
  if (transactionId !== undefined) {
    throw new Refusal('UNSUPPORTED', {
      at: '/keyReference/transactionId',
      message: 'keys tied to a transaction are not offered by this version',
    });
  }
}

/** The password, as the bytes that are checked. A secret in another member is none. @throws {Refusal} FIELD_MISSING */
export function requiredPassword(reference: KeyReference): Uint8Array {
  const password = passwordOf(reference);
  if (password === undefined) {
    throw new Refusal('FIELD_MISSING', { at: '/keyReference/password', message: 'the key is protected by a password, which is required' });
  }
  return password;
}

export function passwordOf({ password }: KeyReference): Uint8Array | undefined {
  return password === undefined ? undefined : Buffer.from(password.normalize('NFC'));
}
