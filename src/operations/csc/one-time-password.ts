import { z } from 'zod';
import { otpUses } from '../../keys/otp.ts';
import type { Context } from '../operation.ts';
import { authorisationOf, credentialKey } from './credential.ts';
import { cscOperation } from './csc-operation.ts';
import { invalidRequest } from './errors.ts';
import { ClientData, CredentialId, exampleCredential } from './parameters.ts';

const details = 'The password is sent to the subscriber of the key by SMS or e-mail, and authorises `credentials/authorize` alone.';
const described = {
  summary: 'Sends a one-time password for `credentials/authorize` to the owner of the credential.',
  details,
  role: 'keys',
  pace: 'otpsPerMinute',
  answer: z.strictObject({}),
  answersNothing: true,
} as const;

const OtpRequest = z.strictObject({ credentialID: CredentialId, clientData: ClientData });

/** `credentials/sendOTP` of version 1 (Cloud Signature Consortium API 1.0.4.0, clause 11.8). */
export const sendOtpV1 = cscOperation({
  ...described,
  version: 'v1',
  method: 'credentials/sendOTP',
  request: OtpRequest,
  example: { credentialID: exampleCredential },
  async run({ credentialID }, context) {
    return send(credentialID, context);
  },
});

/** `credentials/sendOTP` of version 2, in which it is the older name of `credentials/getChallenge`. */
export const sendOtpV2 = cscOperation({
  ...described,
  version: 'v2',
  method: 'credentials/sendOTP',
  request: OtpRequest,
  example: { credentialID: exampleCredential },
  async run({ credentialID }, context) {
    return send(credentialID, context);
  },
});

/** `credentials/getChallenge` (2.0.0.2, clause 11.8). */
export const getChallengeV2 = cscOperation({
  ...described,
  version: 'v2',
  method: 'credentials/getChallenge',
  request: z.strictObject({
    credentialID: CredentialId,
    authObjectID: z.literal('OTP').describe('the secret that is sent: OTP, as credentials/info names it'),
    clientData: ClientData,
  }),
  example: { credentialID: exampleCredential, authObjectID: 'OTP' },
  async run({ credentialID }, context) {
    return send(credentialID, context);
  },
});

/** @throws {Refusal} KEY_UNKNOWN, KEY_STATE, KEY_LOCKED, MESSAGE_NOT_SENT, UNSUPPORTED */
async function send(credentialID: string, context: Context): Promise<Record<string, never>> {
  const key = await credentialKey(credentialID, context);
  const { keys, deliver, messages } = context;
  keys.checkUsable(key, otpUses.AUTHORISE);
  if (!authorisationOf(key, context).otp && key.protocol === 'SINGLE_USE') {
    throw invalidRequest('The credential is authorised by its PIN alone', 'UNSUPPORTED');
  }
  if (deliver === undefined || !messages.reaches(key.subscriber)) {
    throw invalidRequest('The owner of the credential cannot be reached: no address, or no gateway for it', 'MESSAGE_NOT_SENT');
  }
  await keys.makeOtp(key, { action: 'AUTHORISE', digests: [], deliver });
  return {};
}
