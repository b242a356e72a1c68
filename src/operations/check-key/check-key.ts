import { z } from 'zod';
import { remainingAttempts, stateOf } from '../../keys/key-record.ts';
import { checkKeyReference, exampleReference, KeyReference, passwordOf } from '../fields/key-reference.ts';
import { Sha1Hex, Text } from '../fields/values.ts';
import { operation } from '../operation.ts';

/** Tells the state of a key, and whether a secret is its secret (contract §6). A wrong one is counted, and still a success. */
export const checkKey = operation({
  path: 'pki/checkKey',
  role: 'keys',
  spelling: 'majorCode',
  takesIdempotencyKey: false,
  summary: "Tells the state of a key, and whether a secret is the key's.",
  request: z.strictObject({ keyReference: KeyReference, requestID: Text.optional() }),
  example: { keyReference: exampleReference },
  answer: z.strictObject({
    keyReference: z.strictObject({ reference: Sha1Hex }),
    state: z.string().describe('the state of the key'),
    certificate: z.base64().describe('the certificate, DER'),
    notAfter: z.int().describe('end of the certificate, milliseconds since 1970 (UTC)'),
    remainingAttempts: z.int().describe('wrong secrets that are left before the key is locked'),
    lockedUntil: z.int().optional().describe('end of the lock, milliseconds since 1970 (UTC); only where the key is locked for a time'),
    boundDigests: z.array(z.unknown()).describe('the digests that the key signs, where it is bound to any'),
    secretVerified: z
      .boolean()
      .optional()
      .describe('whether the secret given is right; absent where none was given, or none was evaluated'),
  }),
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
