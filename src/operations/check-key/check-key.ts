import { z } from 'zod';
import { remainingAttempts, stateOf } from '../../keys/key-record.ts';
import { checkKeyReference, KeyReference, passwordOf } from '../fields/key-reference.ts';
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
    const password = passwordOf(keyReference);
    const secretVerified = password === undefined ? undefined : await keys.verifySecret(key, password);
    const now = Date.now();
    const lockedUntil = key.lockedUntil !== undefined && key.lockedUntil > now ? key.lockedUntil : undefined;
    return {
      keyReference: { reference: key.reference },
      state: stateOf(key, now),
      certificate: Buffer.from(key.certificate.der).toString('base64'),
      notAfter: key.certificate.notAfter.getTime(),
      remainingAttempts: remainingAttempts(key, now),
      ...(lockedUntil === undefined ? {} : { lockedUntil }),
      boundDigests: [],
      ...(secretVerified === undefined ? {} : { secretVerified }),
    };
  },
});
