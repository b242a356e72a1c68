import { z } from 'zod';
import { hashOfOid } from '../../cms/algorithm-identifier.ts';
import { Base64, ObjectIdentifier, Secret, Text } from '../../fields/values.ts';
import { documentsAbsoluteMax } from '../../config/limits-config.ts';
import { limitedBy } from '../../fields/documented.ts';
import { hashBytes, type HashName } from '../../token/signature-algorithm.ts';

/*
 * Parameters that methods share. The messages are those of the standard's tables of errors, where
 * these have one.
 */

/** Hashes that a key of the service signs. */
export const signedHashes = ['sha256', 'sha384', 'sha512'] as const;
export type SignedHash = (typeof signedHashes)[number];

export const exampleCredential = '2fd4e1c67a2d28fced849ee1bb76e7391b93eb12';
export const exampleHash = 'sTOgwOm+474gFj0q0x1iSNspKqbcse4IeiqlDg/HWuI=';
export const exampleSad = 'q8yAbGkMRXeZ0VmmD0xHNwGTz8Qf2P24hKKHDkHWVklBTiHRGbAH3XlFQZ3ndFhkXf9P24x';

export const CredentialId = Text.min(1).describe(
  'identifies the credential: the reference of its key, or the name that the operator gave it',
);
export const Sad = Text.min(1).describe('signature activation data, from credentials/authorize or credentials/extendTransaction');
export const ClientData = Text.optional().describe('data of the client; not used');
/** In requests with a secret, where a transaction must be named. */
export const TransactionData = Text.optional().describe('the transactionId of a key that is bound to a transaction; otherwise not used');
export const Language = Text.optional().describe('preferred language of the answer; answers are in English');
export const Pin = Secret.describe('the password of the key, or the authToken of a key of SINGLE_USE');
export const Otp = Secret.describe('a one-time password from credentials/sendOTP or credentials/getChallenge');

const Hash = Base64.refine((hash) => hash.length > 0, 'not base64 of a hash').meta({ minLength: 4 });

export const Hashes = z
  .array(Hash)
  .min(1, 'Empty hash array')
  .max(documentsAbsoluteMax)
  .meta({ ...limitedBy('documentsMax') });

export const NumSignatures = z
  .int()
  .min(1, 'Invalid value for parameter numSignatures')
  .meta({ description: 'number of signatures to authorise, in all', ...limitedBy('documentsMax') });

export const HashOid = ObjectIdentifier.refine((oid) => signedHashOf(oid) !== undefined, 'not a hash that keys sign').describe(
  'the hash: SHA-256 (2.16.840.1.101.3.4.2.1), SHA-384 (….2), SHA-512 (….3)',
);

export const SignAlgo = ObjectIdentifier.describe('the signature algorithm, one of key/algo of credentials/info');
export const SignAlgoParams = Base64.optional().describe('its parameters, DER, base64; only for RSASSA-PSS');

/** The mode of operation in version 2: asynchronous operation is not offered. */
export const synchronous = {
  operationMode: z.literal('S').optional().describe('S: the answer has the signatures'),
};

export const Certificates = z
  .enum(['none', 'single', 'chain'])
  .meta({ id: 'CscWantedCertificates', description: 'certificates of an answer' })
  .optional()
  .describe('certificates of the answer: none, that of the key (default), or its chain too');

/** A secret, as credentials/info names it. */
export const SecretName = z
  .enum(['PIN', 'OTP'])
  .meta({ id: 'CscSecretName', description: 'PIN: the password of the key, or its authToken; OTP: a one-time password' });

export function signedHashOf(oid: string): SignedHash | undefined {
  const hash = hashOfOid(oid);
  return signedHashes.find((name) => name === hash);
}

/** Returns the hash that gives values of this length. */
export function hashOfLength(bytes: number): SignedHash | undefined {
  return signedHashes.find((name: HashName) => hashBytes[name] === bytes);
}
