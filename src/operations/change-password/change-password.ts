import { z } from 'zod';
import { commonPasswordFault, type PasswordContext } from '../../keys/common-passwords.ts';
import { requiredSecret } from '../../keys/credentials.ts';
import { Refusal } from '../../result-codes.ts';
import { checkKeyReference, exampleReference, KeyReference } from '../fields/key-reference.ts';
import { RequestId, Text } from '../../fields/values.ts';
import { operation } from '../operation.ts';

const characters = { min: 8, max: 128 } as const;

/**
 * Units of UTF-16 that become one character in NFC: at most four characters, each of which may take
 * two.
 */
const nfcShrinkMax = 8;
const lengthRule = `a password has ${characters.min} to ${characters.max} characters`;

// Bringing many marks into order takes a time that is quadratic in their number, so the length is
// checked before.
const NewPassword = Text.max(nfcShrinkMax * characters.max, lengthRule)
  .transform((text) => text.normalize('NFC'))
  .refine((text) => {
    const { length } = Array.from(text);
    return length >= characters.min && length <= characters.max;
  }, lengthRule);

/**
 * Changes the password of a key. The new one is valid once the request is answered (contract §6).
 */
export const changePassword = operation({
  path: 'pki/changePassword',
  role: 'keys',
  spelling: 'majorCode',
  takesIdempotencyKey: false,
  summary: 'Changes the password of a key.',
  request: z.strictObject({
    keyReference: KeyReference,
    password: NewPassword.meta({
      description: 'the new password: 8 to 128 characters, counted in NFC; none of those that are tried first',
      minLength: characters.min,
      maxLength: characters.max,
    }),
    requestID: RequestId.optional(),
  }),
  example: { keyReference: exampleReference, password: 'a longer pass phrase' },
  answer: z.strictObject({}),
  async run({ keyReference, password }, { caller, config, keys, identities, audit }) {
    audit.key = keyReference.reference;
    checkKeyReference(keyReference);
    if (keyReference.password?.normalize('NFC') === password) {
      throw new Refusal('FIELDS_INCONSISTENT', {
        at: '/password',
        message: 'the new password is the same as the current one',
      });
    }
    const identity = identities.findByReference(caller.tenant, keyReference.reference);
    const key = identity === undefined ? await keys.find(caller.tenant, keyReference.reference) : await identities.keyOf(identity);
    keys.checkUsable(key, 'changePassword');
    if (key.protocol !== 'PASSWORD') {
      throw new Refusal('UNSUPPORTED', {
        at: '/keyReference',
        message: `a key of ${key.protocol} has no password; only keys of PASSWORD do`,
      });
    }
    if (config.tenants[caller.tenant]?.refuseCommonPasswords !== false) {
      const subscriber = 'subscriber' in key ? key.subscriber : {};
      checkUncommon(password, {
        tenant: caller.tenant,
        client: caller.name,
        emailAddress: undefined,
        phoneNumber: undefined,
        ...subscriber,
      });
    }
    await keys.changePassword(key, requiredSecret(key, 'CHANGE_PASSWORD', keyReference), password);
    return {};
  },
});

/** @throws {Refusal} FIELD_INVALID */
function checkUncommon(password: string, context: PasswordContext): void {
  const fault = commonPasswordFault(password, context);
  if (fault !== undefined) throw new Refusal('FIELD_INVALID', { at: '/password', message: `${fault}: choose another one` });
}
