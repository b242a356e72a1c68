import { z } from 'zod';
import { maxListEntries, ObjectIdentifier, Secret, Sha1Hex, Text } from '../../fields/values.ts';
import { isCountryCode } from '../../certificates/country-codes.ts';
import { commitmentTypes } from './signed-properties.ts';
import { clientUrlRule, Digest, RsaVersion, UrlSource, urlSourceFields } from './shared-fields.ts';

const TimeStamp = z
  .strictObject({
    ...urlSourceFields,
    URLSource: UrlSource.optional().describe(
      'SERVER (default): the configured authorities; CERTIFICATE: the one named in the signer certificate; CLIENT: clientURL',
    ),
    digestAlg: Digest.optional().describe('hash of the message imprint; default: SHA_256'),
    policyOID: ObjectIdentifier.optional().describe('required time-stamp policy; default: any'),
    credentials: z
      .strictObject({ userName: Text.describe('user name at the authority'), password: Secret.describe('password of that user') })
      .meta({ id: 'TimeStampCredentials', description: 'HTTP credentials for the authority' })
      .optional(),
    nonce: z.boolean().optional().describe('whether the request includes a nonce, against replayed responses; default: true'),
  })
  .meta({ id: 'TimeStamp', description: 'a time-stamp of the signature (RFC 3161)', ...clientUrlRule });

const textMaxCharacters = 1000;
/** Text that each signature of a request contains. */
const ShortText = Text.max(textMaxCharacters, `at most ${textMaxCharacters} characters`).meta({ minLength: 1 });
/** A URL in ASCII (RFC 3986). It is never fetched. */
const Address = Text.regex(/^[\x21-\x7e]+$/, 'not a URL: visible ASCII characters').describe('URL, in ASCII');

const ExplicitPolicy = z
  .strictObject({
    URL: Address.describe('location of the policy document'),
    digest: z
      .strictObject({
        digestValue: z
          .string()
          .regex(/^(?:[0-9a-fA-F]{2})+$/, 'not hexadecimal')
          .describe('the digest, hexadecimal'),
        digestAlgOID: ObjectIdentifier.describe('SHA-1, SHA-256, SHA-384 or SHA-512'),
      })
      .meta({ id: 'PolicyDigest', description: 'digest of the policy document' }),
    OID: ObjectIdentifier.describe('identifier of the policy'),
  })
  .meta({ id: 'SignaturePolicyQualifier', description: 'a signature policy' });

/** Interface, Signed properties. */
export const SignedPropertiesField = z
  .strictObject({
    signatureType: z
      .enum(['APPELLATION', 'INDEPENDENT'])
      .meta({ id: 'SignatureType', description: 'kind of signature' })
      .optional()
      .describe('APPELLATION adds the commitment ORIGIN; default: INDEPENDENT'),
    commitmentText: ShortText.optional().meta({
      description: 'reason for signing, with CXP_7 at most 200 characters; ignored if commitmentTypeId is given',
    }),
    signaturePolicy: z
      .enum(['NONE', 'IMPLICIT', 'EXPLICIT'])
      .meta({ id: 'SignaturePolicy', description: 'kind of signature policy' })
      .optional()
      .describe('default: NONE; EXPLICIT needs sigPolicyQualifier'),
    commitmentTypeId: z
      .enum(commitmentTypes)
      .meta({ id: 'CommitmentType', description: 'a commitment' })
      .optional()
      .describe('commitment of the signer; default: none'),
    sigPolicyQualifier: ExplicitPolicy.optional().describe('the policy; only with EXPLICIT'),
    signingTime: z
      .strictObject({
        source: z
          .enum(['SYSTEM', 'CLIENT', 'NONE'])
          .meta({ id: 'SigningTimeSource', description: 'where the signing time comes from' })
          .optional()
          .describe('SYSTEM (default): the current time; CLIENT: `time`; NONE: no signing time, so the result is not a baseline signature'),
        time: z.int().optional().describe('milliseconds since 1970 (UTC), within the validity of the certificate; only with CLIENT'),
      })
      .meta({ id: 'SigningTime', description: 'the signing time' })
      .optional()
      .describe('default: the current time'),
    signatureProductionPlace: z
      .strictObject({
        city: ShortText.optional().describe('city'),
        stateOrProvince: ShortText.optional().describe('state or province'),
        postalCode: ShortText.optional().describe('postal code'),
        countryCode: z
          .string()
          .refine(isCountryCode, 'not an ISO 3166-1 alpha-2 code')
          .meta({ pattern: '^[A-Z]{2}$' })
          .optional()
          .describe('ISO 3166-1 alpha-2; default: FR'),
      })
      .meta({ id: 'SignatureProductionPlace', description: 'a place' })
      .optional()
      .describe('place of signing; default: none'),
    signerRole: z
      .strictObject({
        claimedRoles: z
          .strictObject({ claimedRole: z.array(ShortText).max(maxListEntries).optional().describe('roles claimed by the signer') })
          .meta({ id: 'ClaimedRoles', description: 'roles claimed by the signer' }),
      })
      .meta({ id: 'SignerRole', description: 'roles of the signer; default: none' })
      .optional(),
  })
  .meta({ id: 'SignedProperties', description: 'properties that are signed with the document' });

/** Upper bounds: a request lasts minutes at most, so larger values are mistakes or abuse. */
const recoveryMax = { intervalSeconds: 3600, attempts: 100 } as const;

/** Members shared by envelopedXAdESSignature and XP7Signature. */
export const sharedMembers = {
  RSAVersion: RsaVersion.optional().describe('PKCS_1_1_5 (default) or PKCS_1_2_1 (RSASSA-PSS); only for RSA keys'),
  trustedCA: Sha1Hex.optional().describe('SHA-1 of a CA certificate that the chain must contain, hexadecimal'),
  timeStamp: TimeStamp.optional().describe('level T: the signature is time-stamped; default: level B'),
  digestAlgorithm: Digest.optional().describe('hash of the signature algorithm; default: SHA_256 for every key'),
  signedProperties: SignedPropertiesField.optional().describe('properties that are signed with the document; default: the current time'),
  recovery: z
    .strictObject({
      interval: z
        .int()
        .nonnegative()
        .max(recoveryMax.intervalSeconds)
        .optional()
        .describe('seconds between attempts, in practice at least 0.25; default: 0'),
      maxAttempts: z
        .int()
        .positive()
        .max(recoveryMax.attempts)
        .optional()
        .describe('total number of attempts, each over all addresses; default: 1'),
    })
    .meta({ id: 'Recovery', description: 'retries of time-stamp requests' })
    .optional()
    .describe('retries of time-stamp requests, within the time limit of the request; default: none'),
};
