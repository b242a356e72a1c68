import { z } from 'zod';
import { maxListEntries, ObjectIdentifier, Secret, Sha1Hex, Text } from '../../fields/values.ts';
import { isCountryCode } from '../../certificates/country-codes.ts';
import { commitmentTypes } from './signed-properties.ts';
import { Digest, RsaVersion, UrlSource, urlSourceFields } from './shared-fields.ts';

const TimeStamp = z.strictObject({
  ...urlSourceFields,
  URLSource: UrlSource.optional().describe(
    'SERVER (the default): the authorities that the configuration names; CERTIFICATE: the one that the signer certificate names; CLIENT: clientURL',
  ),
  digestAlg: Digest.optional().describe('hash of what is time-stamped; absent: SHA_256'),
  policyOID: ObjectIdentifier.optional().describe('the time-stamp policy that the token must have; absent: any'),
  credentials: z
    .strictObject({ userName: Text.describe('user at the authority'), password: Secret.describe('password of that user') })
    .optional()
    .describe('HTTP credentials at the authority'),
  nonce: z.boolean().optional().describe('whether a nonce keeps old answers out; absent: true'),
});

/** RFC 3986 is ASCII; what it names is never fetched. */
const Address = Text.regex(/^[\x21-\x7e]+$/, 'not a URL: visible ASCII characters').describe('URL, in ASCII');

const ExplicitPolicy = z.strictObject({
  URL: Address.describe('where the policy is found'),
  digest: z
    .strictObject({
      digestValue: z
        .string()
        .regex(/^(?:[0-9a-fA-F]{2})+$/, 'not hexadecimal')
        .describe('hash of the policy, hexadecimal'),
      digestAlgOID: ObjectIdentifier.describe('SHA-1, SHA-256, SHA-384 or SHA-512'),
    })
    .describe('of the document of the policy'),
  OID: ObjectIdentifier.describe('identifier of the policy'),
});

/** Interface, Signed properties. */
export const SignedPropertiesField = z.strictObject({
  signatureType: z.enum(['APPELLATION', 'INDEPENDENT']).optional().describe('APPELLATION adds the commitment ORIGIN; absent: INDEPENDENT'),
  commitmentText: Text.optional().describe('reason of the signer, 1 to 200 characters; ignored when commitmentTypeId is given'),
  signaturePolicy: z.enum(['NONE', 'IMPLICIT', 'EXPLICIT']).optional().describe('absent: NONE; EXPLICIT needs sigPolicyQualifier'),
  commitmentTypeId: z.enum(commitmentTypes).optional().describe('what the signer commits to; absent: nothing'),
  sigPolicyQualifier: ExplicitPolicy.optional().describe('the policy, with EXPLICIT alone'),
  signingTime: z
    .strictObject({
      source: z
        .enum(['SYSTEM', 'CLIENT', 'NONE'])
        .optional()
        .describe('absent: SYSTEM, the current time; NONE: the signature has no time, and is no baseline signature'),
      time: z.int().optional().describe('milliseconds since epoch, within the validity of the certificate; with CLIENT alone'),
    })
    .optional()
    .describe('absent: the current time'),
  signatureProductionPlace: z
    .strictObject({
      city: Text.optional().describe('city'),
      stateOrProvince: Text.optional().describe('state or province'),
      postalCode: Text.optional().describe('postal code'),
      countryCode: z.string().refine(isCountryCode, 'not an ISO 3166-1 alpha-2 code').optional().describe('ISO 3166-1 alpha-2; absent: FR'),
    })
    .optional()
    .describe('where the signature is made; absent: none is said'),
  signerRole: z
    .strictObject({
      claimedRoles: z.strictObject({ claimedRole: z.array(Text).max(maxListEntries).optional().describe('roles of the signer, unproven') }),
    })
    .optional(),
});

/** A request has minutes at most: more than these is a slip, or a flood. */
const recoveryMax = { intervalSeconds: 3600, attempts: 100 } as const;

/** Members that envelopedXAdESSignature and XP7Signature share. */
export const sharedMembers = {
  RSAVersion: RsaVersion.optional().describe('PKCS_1_1_5 (the default) or PKCS_1_2_1 (RSASSA-PSS); for RSA keys alone'),
  trustedCA: Sha1Hex.optional().describe('SHA-1 of the CA certificate that the chain is to end in, hexadecimal'),
  timeStamp: TimeStamp.optional().describe('level T: the signature is time-stamped; absent: level B'),
  digestAlgorithm: Digest.optional().describe('hash of what is signed; absent: SHA_256, whatever the key'),
  signedProperties: SignedPropertiesField.optional().describe('what is signed beside the document; absent: the current time'),
  recovery: z
    .strictObject({
      interval: z
        .int()
        .nonnegative()
        .max(recoveryMax.intervalSeconds)
        .optional()
        .describe('seconds between two attempts, a quarter of one at least; absent: 0'),
      maxAttempts: z.int().positive().max(recoveryMax.attempts).optional().describe('attempts in all, each over all addresses; absent: 1'),
    })
    .optional()
    .describe('further attempts at time-stamp authorities, within the time of the request; absent: one attempt'),
};
