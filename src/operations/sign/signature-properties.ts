import { z } from 'zod';
import { maxListEntries, ObjectIdentifier, Secret, Sha1Hex, Text } from '../fields/values.ts';
import { Digest, RsaVersion, UrlSource } from './enumerations.ts';

const TimeStamp = z.strictObject({
  URLSource: UrlSource.optional(),
  clientURL: z.array(Text).max(maxListEntries).optional(),
  digestAlg: Digest.optional(),
  policyOID: ObjectIdentifier.optional(),
  credentials: z.strictObject({ userName: Text, password: Secret }).optional(),
  nonce: z.boolean().optional(),
});

const SignedProperties = z.strictObject({
  signatureType: z.enum(['APPELLATION', 'INDEPENDENT']).optional(),
  commitmentText: Text.optional(),
  signaturePolicy: z.enum(['NONE', 'IMPLICIT', 'EXPLICIT']).optional(),
  commitmentTypeId: z.enum(['APPROVAL', 'ORIGIN', 'DELIVERY', 'RECEIPT', 'SENDER']).optional(),
  sigPolicyQualifier: z
    .strictObject({
      URL: Text,
      digest: z.strictObject({ digestValue: z.string().regex(/^(?:[0-9a-fA-F]{2})+$/, 'not hexadecimal'), digestAlgOID: ObjectIdentifier }),
      OID: ObjectIdentifier,
    })
    .optional(),
  signingTime: z.strictObject({ source: z.enum(['SYSTEM', 'CLIENT', 'NONE']).optional(), time: z.int().optional() }).optional(),
  signatureProductionPlace: z
    .strictObject({
      city: Text.optional(),
      stateOrProvince: Text.optional(),
      postalCode: Text.optional(),
      countryCode: z
        .string()
        .regex(/^[A-Z]{2}$/, 'not an ISO 3166-1 alpha-2 code')
        .optional(),
    })
    .optional(),
  signerRole: z.strictObject({ claimedRoles: z.strictObject({ claimedRole: z.array(Text).max(maxListEntries).optional() }) }).optional(),
});

/** Members that envelopedXAdESSignature and XP7Signature share. */
export const sharedMembers = {
  RSAVersion: RsaVersion.optional(),
  trustedCA: Sha1Hex.optional(),
  timeStamp: TimeStamp.optional(),
  digestAlgorithm: Digest.optional(),
  signedProperties: SignedProperties.optional(),
  recovery: z.strictObject({ interval: z.int().nonnegative().optional(), maxAttempts: z.int().positive().optional() }).optional(),
};
