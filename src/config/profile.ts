import { z } from 'zod';

export const keyTypes = ['RSA-2048', 'RSA-3072', 'RSA-4096', 'P-256', 'P-384', 'P-521'] as const;
export type KeyType = (typeof keyTypes)[number];

const ObjectIdentifierText = z.string().regex(/^[0-2](\.(0|[1-9]\d*))+$/, 'an object identifier such as 2.5.29.17');
/** What stands in a certificate is read by everybody: no credentials, no fragment. */
const PublicUrl = z
  .string()
  .max(1024)
  .regex(/^https?:\/\/[A-Za-z0-9.:[\]-]+(?:\/[\x21\x23-\x3b\x3d\x3f-\x5b\x5d\x5f\x61-\x7a\x7e]*)?$/, 'an http or https URL in ASCII');

export const keyUsages = ['digitalSignature', 'contentCommitment', 'keyEncipherment', 'keyCertSign', 'cRLSign'] as const;

/** Choices of GeneralName (RFC 5280 4.2.1.6). An otherName is a log-on name to some systems: none is ever issued. */
export const alternativeNameKinds = [
  'rfc822Name',
  'dNSName',
  'directoryName',
  'uniformResourceIdentifier',
  'iPAddress',
  'registeredID',
] as const;
export type AlternativeNameKind = (typeof alternativeNameKinds)[number];

/** Where the status and the issuer of certificates are published. Absent members: those of the certificate authority. */
export const PublicationUrls = z.strictObject({
  crl: z.array(PublicUrl).max(8).optional().describe('Addresses of the CRL (cRLDistributionPoints).'),
  ocsp: z.array(PublicUrl).max(8).optional().describe('Addresses of OCSP responders (authorityInfoAccess).'),
  caIssuers: z.array(PublicUrl).max(8).optional().describe("Addresses of the issuer's certificate (authorityInfoAccess)."),
});
export type PublicationUrls = z.output<typeof PublicationUrls>;

/** Statements of ETSI EN 319 412-5 and RFC 3739 §3.2.6, each left out where it is absent or false. */
export const QcStatements = z.strictObject({
  compliance: z.boolean().default(false).describe('QcCompliance: the certificate is qualified.'),
  sscd: z.boolean().default(false).describe('QcSSCD: the key is in a qualified signature creation device.'),
  types: z
    .array(z.enum(['esign', 'eseal', 'web']))
    .default([])
    .describe('QcType.'),
  retentionYears: z.int().min(1).max(100).optional().describe('QcRetentionPeriod.'),
  limitValue: z
    .strictObject({
      currency: z
        .string()
        .regex(/^[A-Z]{3}$/, 'a currency code of ISO 4217, such as EUR')
        .describe('Currency (ISO 4217).'),
      amount: z.int().nonnegative().describe('Amount; the limit is amount · 10^exponent.'),
      exponent: z.int().min(0).max(20).describe('Exponent of ten.'),
    })
    .optional()
    .describe('QcLimitValue.'),
  disclosureStatements: z
    .array(
      z.strictObject({
        url: PublicUrl.refine((url) => url.startsWith('https://'), 'an https URL').describe('Address of the statement.'),
        language: z
          .string()
          .regex(/^[a-z]{2}$/, 'a language code of ISO 639-1')
          .describe('Its language (ISO 639-1).'),
      }),
    )
    .default([])
    .describe('QcPDS: where the disclosure statements are. EN 319 412-5 4.3.4 asks for one in English, over https.'),
  legislationCountries: z
    .array(z.string().regex(/^[A-Z]{2}$/, 'a country code of ISO 3166-1'))
    .default([])
    .describe('QcCClegislation: countries under whose law it is qualified. Empty: the European Union.'),
  semantics: z
    .enum(['natural', 'legal'])
    .optional()
    .describe('id-etsi-qcs-semanticsId-Natural or -Legal (EN 319 412-1 §5.1): how serialNumber or organizationIdentifier is to be read.'),
});
export type QcStatements = z.output<typeof QcStatements>;

const AttributeName = z.string().min(1).max(64);

/** What the subject must and may be. Attributes are named as in RFC 4519 (`organizationName`), or by OID. */
const SubjectRules = z.strictObject({
  person: z
    .enum(['natural', 'legal'])
    .optional()
    .describe('The attributes of ETSI EN 319 412-2 §4.2.4 (natural person) or EN 319 412-3 §4.2.1 (legal person) are required.'),
  required: z.array(AttributeName).default([]).describe('Further attributes that every subject has to have.'),
  allowed: z
    .array(AttributeName)
    .optional()
    .describe(
      'Absent: every attribute but emailAddress, which is to be named here or in required. countryName and commonName are always there.',
    ),
  countries: z
    .array(z.string().regex(/^[A-Z]{2}$/, 'a country code of ISO 3166-1'))
    .optional()
    .describe('Countries that a subject may have (ISO 3166-1). Absent: every one.'),
  defaultCountry: z
    .string()
    .regex(/^[A-Z]{2}$/, 'a country code of ISO 3166-1')
    .optional()
    .describe('The country of a subject whose token of an identity provider names none.'),
});
export type SubjectRules = z.output<typeof SubjectRules>;

const Policy = z.union([
  ObjectIdentifierText,
  z.strictObject({
    policy: ObjectIdentifierText.describe('Object identifier of the policy.'),
    practiceStatementUrl: PublicUrl.describe('Address of the certification practice statement (RFC 5280 4.2.1.4).'),
  }),
]);
export type Policy = z.output<typeof Policy>;

/** What a tenant's certificates look like (contract §7). A profile is chosen by tenant, never by the request. */
export const CertificateProfile = z.strictObject({
  keyType: z.enum(keyTypes).describe("Type of the tenant's keys."),
  keyUsage: z.array(z.enum(keyUsages)).min(1).default(['contentCommitment']).describe('keyUsage of the certificates.'),
  extendedKeyUsage: z.array(ObjectIdentifierText).default([]).describe('Object identifiers of extendedKeyUsage; empty: none.'),
  policies: z.array(Policy).default([]).describe('certificatePolicies: object identifiers, or objects with a practice statement.'),
  qcStatements: QcStatements.optional(),
  subject: SubjectRules.prefault({}),
  urls: PublicationUrls.prefault({}),
  defaultValidityMinutes: z
    .int()
    .positive()
    .default(60)
    .describe('Minutes that a certificate is valid for where the request has no validityPeriod.'),
  maxValidityMinutes: z
    .int()
    .positive()
    .default(24 * 60)
    .describe('Minutes that validityPeriod is cut to.'),
  allowedExtensions: z
    .array(ObjectIdentifierText)
    .default(['2.5.29.17'])
    .describe('Extensions that extensionRequest may add, by OID. subjectAltName (2.5.29.17) stands for subjectAlternativeName too.'),
  allowedAlternativeNames: z
    .array(z.enum(alternativeNameKinds))
    .default(['rfc822Name'])
    .describe('Kinds of name that a subjectAltName may hold.'),
  allowedDirectoryAttributes: z
    .array(ObjectIdentifierText)
    .default([])
    .describe('Attribute identifiers that may become subjectDirectoryAttributes.'),
});
export type CertificateProfile = z.output<typeof CertificateProfile>;
