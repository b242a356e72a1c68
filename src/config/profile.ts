import { z } from 'zod';

export const keyTypes = ['RSA-2048', 'RSA-3072', 'RSA-4096', 'P-256', 'P-384', 'P-521'] as const;
export type KeyType = (typeof keyTypes)[number];

const ObjectIdentifierText = z.string().regex(/^[0-2](\.(0|[1-9]\d*))+$/, 'an object identifier such as 2.5.29.17');

export const keyUsages = ['digitalSignature', 'contentCommitment', 'keyEncipherment', 'keyCertSign', 'cRLSign'] as const;

/** What a tenant's certificates look like (contract §7). A profile is chosen by tenant, never by the request. */
export const CertificateProfile = z.strictObject({
  keyType: z.enum(keyTypes),
  keyUsage: z.array(z.enum(keyUsages)).min(1).default(['contentCommitment']),
  extendedKeyUsage: z.array(ObjectIdentifierText).default([]),
  policies: z.array(ObjectIdentifierText).default([]),
  defaultValidityMinutes: z.int().positive().default(60),
  maxValidityMinutes: z
    .int()
    .positive()
    .default(24 * 60),
  /** Extensions that `extensionRequest` may add, by OID. subjectAltName (2.5.29.17) stands for `subjectAlternativeName` too. */
  allowedExtensions: z.array(ObjectIdentifierText).default(['2.5.29.17']),
  /** Attribute identifiers that may become subjectDirectoryAttributes. */
  allowedDirectoryAttributes: z.array(ObjectIdentifierText).default([]),
});
export type CertificateProfile = z.output<typeof CertificateProfile>;
