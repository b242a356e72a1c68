import { z } from 'zod';
import { parseKeyReferenceId } from '../../keys/key-record.ts';
import { Refusal } from '../../result-codes.ts';
import { having } from '../../fields/documented.ts';
import { Secret, Sha1Hex } from '../../fields/values.ts';

/** Interface, Key reference. */
export const KeyReference = z
  .strictObject({
    reference: Sha1Hex.transform((text) => parseKeyReferenceId(text)).describe('identifies the key: SHA-1 of its certificate, hexadecimal'),
    authToken: Secret.optional().describe('the secret of a key of SINGLE_USE; 1 to 1024 bytes'),
    password: Secret.optional().describe("the key's password, or a valid one-time password for the action; 1 to 1024 bytes"),
    transactionId: Secret.optional().describe(
      'transaction that the key is bound to, as in createCertificate; required if it is bound to one',
    ),
  })
  .meta({
    id: 'KeyReference',
    description: 'a key and its secret: password or authToken, not both',
    not: having({ authToken: {}, password: {} }),
  });
export type KeyReference = z.output<typeof KeyReference>;

/** Key reference for the examples in the documentation. */
export const exampleReference = { reference: '2fd4e1c67a2d28fced849ee1bb76e7391b93eb12', password: 'Jv2mZ0lq8xWc4s1tNfR3yQ' };

/** Checks that there is only one secret (contract §6). @throws {Refusal} FIELDS_INCONSISTENT */
export function checkKeyReference({ authToken, password }: KeyReference): void {
  if (authToken === undefined || password === undefined) return;
  throw new Refusal('FIELDS_INCONSISTENT', {
    at: '/keyReference/authToken',
    message: 'password and authToken exclude each other',
  });
}
