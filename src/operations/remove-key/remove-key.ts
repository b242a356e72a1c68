import { z } from 'zod';
import { requiredSecret } from '../../keys/credentials.ts';
import { Refusal } from '../../result-codes.ts';
import { checkKeyReference, exampleReference, KeyReference } from '../fields/key-reference.ts';
import { RequestId } from '../../fields/values.ts';
import { operation } from '../operation.ts';

/**
 * Destroys a key on the token; its certificate and its record remain (contract §6).
 * `docs/key-states.md` lists the permitted states.
 */
export const removeKey = operation({
  path: 'pki/removeKey',
  role: 'keys',
  spelling: 'majorCode',
  takesIdempotencyKey: false,
  summary: 'Destroys a key on the token; its certificate and its record remain.',
  request: z.strictObject({ keyReference: KeyReference, requestID: RequestId.optional() }),
  example: { keyReference: exampleReference },
  answer: z.strictObject({}),
  async run({ keyReference }, { caller, keys, identities, audit }) {
    audit.key = keyReference.reference;
    checkKeyReference(keyReference);
    if (identities.findByReference(caller.tenant, keyReference.reference) !== undefined) {
      throw new Refusal('UNSUPPORTED', {
        at: '/keyReference/reference',
        message: 'the key of a digital identity is removed by an operator (signetctl twoddoc identity remove)',
      });
    }
    const key = await keys.find(caller.tenant, keyReference.reference);
    keys.checkUsable(key, 'remove');
    await keys.remove(key, requiredSecret(key, 'REVOKE', keyReference));
    return {};
  },
});
