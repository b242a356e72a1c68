import { z } from 'zod';
import type { Caller } from '../../clients/caller.ts';
import { givenSecret } from '../../keys/credentials.ts';
import { standingOf, type ActivatableKey, type KeyRecord, type KeyReferenceId } from '../../keys/key-record.ts';
import { keyStates } from '../../keys/states.ts';
import { checkKeyReference, exampleReference, KeyReference } from '../fields/key-reference.ts';
import { Secret, Sha1Hex, RequestId } from '../../fields/values.ts';
import { operation, type Context } from '../operation.ts';

/**
 * Returns the state of a key and verifies its secret (contract §6). A wrong secret is counted, but
 * the request still succeeds.
 */
export const checkKey = operation({
  path: 'pki/checkKey',
  role: 'keys',
  spelling: 'majorCode',
  takesIdempotencyKey: false,
  summary: 'Returns the state of a key and verifies its secret.',
  request: z.strictObject({ keyReference: KeyReference, requestID: RequestId.optional() }),
  example: { keyReference: exampleReference },
  answer: z.strictObject({
    keyReference: z
      .strictObject({ reference: Sha1Hex, transactionId: Secret.optional().describe('as in the request') })
      .meta({ id: 'CheckedKeyReference', description: 'the key, without its secret' }),
    state: z.enum(keyStates).meta({ id: 'KeyState', description: 'state of the key' }),
    certificate: z.base64().describe('the certificate, DER'),
    notAfter: z.int().describe('end of the certificate, milliseconds since 1970 (UTC)'),
    remainingAttempts: z.int().describe('number of wrong secrets left before the key is locked'),
    lockedUntil: z.int().optional().describe('end of the lock, milliseconds since 1970 (UTC); only if the key is locked temporarily'),
    boundDigests: z.array(z.string()).describe('the IDs of the documents that the key is bound to'),
    secretVerified: z.boolean().optional().describe('whether the given secret is correct; absent if none was given or none was evaluated'),
  }),
  async run({ keyReference }, { caller, keys, identities, audit }) {
    audit.key = keyReference.reference;
    checkKeyReference(keyReference);
    const identity = identities.findByReference(caller.tenant, keyReference.reference);
    const { key, certificate, binding } =
      identity === undefined
        ? await callersKey(keys, caller, keyReference.reference)
        : { key: await identities.keyOf(identity), certificate: identity.certificate, binding: undefined };
    const given = givenSecret(key, 'SIGN', keyReference);
    const secretVerified = given === undefined ? undefined : await keys.verifySecret(key, given);
    const { state, remainingAttempts, lockedUntil } = standingOf(key, keys.now());
    return {
      keyReference: {
        reference: keyReference.reference,
        ...(keyReference.transactionId === undefined ? {} : { transactionId: keyReference.transactionId }),
      },
      state,
      certificate: Buffer.from(certificate.der).toString('base64'),
      notAfter: certificate.notAfter.getTime(),
      remainingAttempts,
      ...(lockedUntil === undefined ? {} : { lockedUntil }),
      boundDigests: [...new Set(binding?.map(({ id }) => id))],
      ...(secretVerified === undefined ? {} : { secretVerified }),
    };
  },
});

async function callersKey(
  keys: Context['keys'],
  { tenant }: Caller,
  reference: KeyReferenceId,
): Promise<Pick<KeyRecord, 'certificate' | 'binding'> & { readonly key: ActivatableKey }> {
  const key = await keys.find(tenant, reference);
  return { key, certificate: key.certificate, binding: key.binding };
}
