import { resolve } from 'node:path';
import { z } from 'zod';
import { CredentialNames } from './csc-config.ts';
import { AllowedDirectories } from './documents-config.ts';
import { OtpText } from './messages-config.ts';
import { CertificateProfile } from './profile.ts';
import { TenantLimitsConfig } from './tenant-limits-config.ts';
import { absoluteTwoDDoc, TwoDDocConfig } from './two-d-doc-config.ts';

/** A tenant: its authority, its certificate profile and its settings. */
export const TenantConfig = z.strictObject({
  certificateAuthority: z.string().min(1).describe("Name of the authority that issues the tenant's certificates."),
  profile: CertificateProfile,
  credentialNames: CredentialNames.default({}).describe(
    'Names of keys of the tenant as credentials of the API of the Cloud Signature Consortium: from a name to the reference of the key. A key without a name is shown by its reference.',
  ),
  identityProviders: z
    .array(z.string())
    .max(16)
    .default([])
    .describe('Names of the providers whose tokens createCertificate accepts from this tenant.'),
  keysMax: z
    .int()
    .positive()
    .optional()
    .describe(
      'Maximum number of keys of the tenant on the token, not counting consumed and removed ones; beyond it createCertificate returns 2/213. Default: no limit.',
    ),
  limits: TenantLimitsConfig.prefault({}).describe('Limits of the tenant, and of its clients instead of those in the section limits.'),
  refuseCommonPasswords: z
    .boolean()
    .default(true)
    .describe(
      'changePassword refuses, with 1/102, a new password that is among the first that are tried: common ones, repeated or consecutive characters, and names of the tenant, the client or the subscriber.',
    ),
  revocationNeedsSecret: z.boolean().default(false).describe("revokeCertificate requires the key's secret; the role alone is not enough."),
  allowSha1: z
    .boolean()
    .default(false)
    .describe('Accepts SHA-1 digests, the DIGEST value SHA_1 and time-stamps that depend on SHA-1, which is broken for new signatures.'),
  otpDelivery: z
    .enum(['RESPONSE', 'MESSAGE'])
    .default('RESPONSE')
    .describe(
      'How sendOTP delivers a one-time password: RESPONSE returns it to the caller, MESSAGE sends it to the subscriber of the key.',
    ),
  otpText: OtpText.optional().describe("Message to the tenant's subscribers, instead of messages.otpText."),
  readDirectories: AllowedDirectories.optional().describe("The tenant's own list instead of documents.readDirectories."),
  timeStampsFromAnyRoot: z
    .boolean()
    .default(false)
    .describe(
      'Accepts tokens of any time-stamp authority that a caller names (URLSource CLIENT), whatever root they chain to, even if the token does not contain the root.',
    ),
  twoDDoc: TwoDDocConfig.prefault({}),
  writeDirectories: AllowedDirectories.optional().describe("The tenant's own list instead of documents.writeDirectories."),
});
type TenantConfig = z.output<typeof TenantConfig>;

/** Makes the paths absolute. */
export function absoluteTenant(tenant: TenantConfig, base: string): TenantConfig {
  const { readDirectories, twoDDoc, writeDirectories } = tenant;
  return {
    ...tenant,
    twoDDoc: absoluteTwoDDoc(twoDDoc, base),
    ...(readDirectories === undefined ? {} : { readDirectories: readDirectories.map((directory) => resolve(base, directory)) }),
    ...(writeDirectories === undefined ? {} : { writeDirectories: writeDirectories.map((directory) => resolve(base, directory)) }),
  };
}
