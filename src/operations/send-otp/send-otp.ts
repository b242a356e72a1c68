import { z } from 'zod';
import { otpActions, type OtpAction } from '../../keys/credentials.ts';
import { bindingHash } from '../../keys/digest-binding.ts';
import { parseKeyReferenceId, type KeyRecord } from '../../keys/key-record.ts';
import { otpUses } from '../../keys/otp.ts';
import { Refusal } from '../../result-codes.ts';
import { boundDigests, OtpSignerData } from '../fields/bound-digests.ts';
import { SenderResponses } from '../fields/sender-responses.ts';
import { exampleReference } from '../fields/key-reference.ts';
import { having, where } from '../../fields/documented.ts';
import { Sha1Hex, RequestId } from '../../fields/values.ts';
import { operation } from '../operation.ts';

const SendOtpRequest = z
  .strictObject({
    action: z.enum(otpActions).meta({ id: 'OTPAction', description: 'the only action that the one-time password authorises' }),
    signerData: OtpSignerData,
    keyReference: Sha1Hex.transform((text) => parseKeyReferenceId(text)).describe(
      'identifies the key: SHA-1 of its certificate, hexadecimal',
    ),
    requestID: RequestId.optional(),
  })
  .meta({
    ...where(having({ action: { const: 'SIGN' } }), having({ signerData: having({ digest: { minItems: 1 } }) })),
  });

/**
 * Creates a one-time password for one action on a key (contract §6), and returns it or has it
 * delivered, as configured for the tenant.
 */
export const sendOtp = operation({
  path: 'pki/sendOTP',
  role: 'keys',
  spelling: 'majorCode',
  takesIdempotencyKey: true,
  pace: 'otpsPerMinute',
  summary: 'Creates a one-time password that authorises one action on a key.',
  request: SendOtpRequest,
  example: {
    action: 'SIGN',
    keyReference: exampleReference.reference,
    signerData: {
      digest: [{ id: 'contract', digestAlgOID: '2.16.840.1.101.3.4.2.1', digestValue: 'n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg=' }],
    },
  },
  answer: z.strictObject({
    password: z.string().optional().describe('the one-time password: eight digits; absent if it is delivered to the subscriber'),
    senderResponses: SenderResponses.optional().describe('responses of the gateways; only with 2/251, if any was asked'),
  }),
  async run({ action, signerData, keyReference }, { caller, config, keys, identities, audit, deliver }) {
    audit.key = keyReference;
    const tenant = config.tenants[caller.tenant];
    // Other actions have a list too, which is ignored.
    const rules = { allowSha1: tenant?.allowSha1 ?? false, documentsMax: config.limits.documentsMax };
    const digests = action === 'SIGN' ? boundDigests(signerData, rules) : [];
    if (digests.length > 0) audit.digests.push(`list-of-${digests.length}:sha256:${bindingHash(digests)}`);
    if (identities.findByReference(caller.tenant, keyReference) !== undefined) {
      throw new Refusal('UNSUPPORTED', {
        at: '/keyReference',
        message: 'the key of a digital identity is activated by its password only',
      });
    }
    const key = await keys.find(caller.tenant, keyReference);
    keys.checkUsable(key, otpUses[action]);
    checkFitsProtocol(key, action);
    const isDelivered = tenant?.otpDelivery === 'MESSAGE';
    if (isDelivered && deliver === undefined) throw new Error('one-time passwords are to be delivered, and no gateway is configured');
    const password = await keys.makeOtp(key, { action, digests, deliver: isDelivered ? deliver : undefined });
    return password === undefined ? {} : { password };
  },
});

/** @throws {Refusal} UNSUPPORTED */
function checkFitsProtocol({ protocol }: KeyRecord, action: OtpAction): void {
  if (action === 'CHANGE_PASSWORD' && protocol !== 'PASSWORD') {
    throw new Refusal('UNSUPPORTED', {
      at: '/action',
      message: `a key of ${protocol} has no password to change; supported: SIGN and REVOKE`,
    });
  }
  if (action === 'SIGN' && protocol === 'SINGLE_USE') {
    throw new Refusal('UNSUPPORTED', { at: '/action', message: 'a key of SINGLE_USE signs with its authToken; supported: REVOKE' });
  }
}
