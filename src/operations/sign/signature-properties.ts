import { z } from 'zod';
import { maxListEntries, ObjectIdentifier, Secret, Sha1Hex, Text } from '../fields/values.ts';
import { notOffered } from '../fields/not-offered.ts';
import { Digest, RsaVersion, UrlSource } from './enumerations.ts';

const TimeStamp = z.strictObject({
  URLSource: UrlSource.optional().describe('where the address of the authority comes from'),
  clientURL: z.array(Text).max(maxListEntries).optional().describe('addresses of authorities; at least one with CLIENT'),
  digestAlg: Digest.optional().describe('hash that is time-stamped; absent: SHA_256'),
  policyOID: ObjectIdentifier.optional().describe('time-stamp policy'),
  credentials: z
    .strictObject({ userName: Text.describe('user at the authority'), password: Secret.describe('password of that user') })
    .optional()
    .describe('HTTP credentials at the authority'),
  nonce: z.boolean().optional().describe('whether a nonce keeps old answers out'),
});

const SignedProperties = z.strictObject({
  signatureType: z
    .enum(['APPELLATION', 'INDEPENDENT'])
    .optional()
    .describe('APPELLATION: a signature that acknowledges another; INDEPENDENT is the default'),
  commitmentText: Text.optional().describe('why the signer signs; ignored beside commitmentTypeId'),
  signaturePolicy: z.enum(['NONE', 'IMPLICIT', 'EXPLICIT']).optional().describe('NONE is the default; EXPLICIT needs sigPolicyQualifier'),
  commitmentTypeId: z
    .enum(['APPROVAL', 'ORIGIN', 'DELIVERY', 'RECEIPT', 'SENDER'])
    .optional()
    .describe('the commitment of the signer; absent: none'),
  sigPolicyQualifier: z
    .strictObject({
      URL: Text.describe('address of the policy'),
      digest: z.strictObject({
        digestValue: z
          .string()
          .regex(/^(?:[0-9a-fA-F]{2})+$/, 'not hexadecimal')
          .describe('hash of the policy, hexadecimal'),
        digestAlgOID: ObjectIdentifier.describe('object identifier of the hash'),
      }),
      OID: ObjectIdentifier.describe('identifier of the policy'),
    })
    .optional(),
  signingTime: z
    .strictObject({
      source: z
        .enum(['SYSTEM', 'CLIENT', 'NONE'])
        .optional()
        .describe('SYSTEM (the default): the time of the service; CLIENT: `time`; NONE: no time'),
      time: z.int().optional().describe('milliseconds since epoch (UTC); with CLIENT'),
    })
    .optional(),
  signatureProductionPlace: z
    .strictObject({
      city: Text.optional().describe('city'),
      stateOrProvince: Text.optional().describe('state or province'),
      postalCode: Text.optional().describe('postal code'),
      countryCode: z
        .string()
        .regex(/^[A-Z]{2}$/, 'not an ISO 3166-1 alpha-2 code')
        .optional()
        .describe('country (ISO 3166-1, two letters); absent: FR'),
    })
    .optional(),
  signerRole: z
    .strictObject({
      claimedRoles: z.strictObject({ claimedRole: z.array(Text).max(maxListEntries).optional().describe('roles that the signer claims') }),
    })
    .optional(),
});

/** Members that envelopedXAdESSignature and XP7Signature share. */
export const sharedMembers = {
  RSAVersion: RsaVersion.optional().describe('PKCS_1_1_5 (the default) or PKCS_1_2_1 (RSASSA-PSS); for RSA keys alone'),
  trustedCA: Sha1Hex.optional().describe('SHA-1 of the CA certificate that the chain is to end in, hexadecimal'),
  timeStamp: TimeStamp.optional().meta(notOffered),
  digestAlgorithm: Digest.optional().describe('hash of what is signed; absent: SHA_256, whatever the key'),
  signedProperties: SignedProperties.optional().meta(notOffered),
  recovery: z
    .strictObject({
      interval: z.int().nonnegative().optional().describe('seconds between two tries'),
      maxAttempts: z.int().positive().optional().describe('tries in all, over all addresses'),
    })
    .optional()
    .describe('further tries at time-stamp authorities: seconds between them, and how many'),
};
