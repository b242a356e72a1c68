import { z } from 'zod';
import { givenSecret } from '../../keys/credentials.ts';
import { remainingAttempts, stateOf } from '../../keys/key-record.ts';
import { checkKeyReference, KeyReference } from '../fields/key-reference.ts';
import { Text } from '../fields/values.ts';
import { operation } from '../operation.ts';

/** Tells the state of a key, and whether a secret is its secret (contract §6). A wrong one is counted, and still a success. */
export const checkKey = operation({
  path: 'pki/checkKey',
  role: 'keys',
  spelling: 'majorCode',
  takesIdempotencyKey: false,
  request: z.strictObject({ keyReference: KeyReference, requestID: Text.optional() }),
  async run({ keyReference }, { caller, keys, audit }) {
    audit.key = keyReference.reference;
    checkKeyReference(keyReference);
    const key = await keys.find(caller.tenant, keyReference.reference);
    const given = givenSecret(key, 'SIGN', keyReference);
    const secretVerified = given === undefined ? undefined : await keys.verifySecret(key, given);
    const now = Date.now();
    const lockedUntil = key.lockedUntil !== undefined && key.lockedUntil > now ? key.lockedUntil : undefined;
    return {
      keyReference: {
        reference: key.reference,
        ...(keyReference.transactionId === undefined ? {} : { transactionId: keyReference.transactionId }),
      },
      state: stateOf(key, now),
      certificate: Buffer.from(key.certificate.der).toString('base64'),
      notAfter: key.certificate.notAfter.getTime(),
      remainingAttempts: remainingAttempts(key, now),
      ...(lockedUntil === undefined ? {} : { lockedUntil }),
      boundDigests: [...new Set(key.binding?.map(({ id }) => id))],
      ...(secretVerified === undefined ? {} : { secretVerified }),
    };
  },
});
