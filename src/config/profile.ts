import { z } from 'zod';
import { keyTypes } from './key-types.ts';

const ObjectIdentifierText = z.string().regex(/^[0-2](\.(0|[1-9]\d*))+$/, 'not an object identifier such as 2.5.29.17');
/** Certificates are public, so no credentials; no fragment either. */
const PublicUrl = z
  .string()
  .max(1024)
  .regex(/^https?:\/\/[A-Za-z0-9.:[\]-]+(?:\/[\x21\x23-\x3b\x3d\x3f-\x5b\x5d\x5f\x61-\x7a\x7e]*)?$/, 'not an http or https URL in ASCII');

export const keyUsages = ['digitalSignature', 'contentCommitment', 'keyEncipherment', 'keyCertSign', 'cRLSign'] as const;

/**
 * Choices of GeneralName (RFC 5280 4.2.1.6). An otherName is never issued, since some systems
 * accept it as a log-on name.
 */
export const alternativeNameKinds = [
  'rfc822Name',
  'dNSName',
  'directoryName',
  'uniformResourceIdentifier',
  'iPAddress',
  'registeredID',
] as const;
export type AlternativeNameKind = (typeof alternativeNameKinds)[number];

/**
 * URLs at which the status and the issuer of certificates are published. Default: those of the
 * certificate authority.
 */
export const PublicationUrls = z.strictObject({
  crl: z.array(PublicUrl).max(8).optional().describe('URLs of the CRL (cRLDistributionPoints).'),
  ocsp: z.array(PublicUrl).max(8).optional().describe('URLs of OCSP responders (authorityInfoAccess).'),
  caIssuers: z.array(PublicUrl).max(8).optional().describe("URLs of the issuer's certificate (authorityInfoAccess)."),
});
export type PublicationUrls = z.output<typeof PublicationUrls>;

/** Statements of ETSI EN 319 412-5 and RFC 3739 §3.2.6, each omitted if absent or false. */
export const QcStatements = z.strictObject({
  compliance: z.boolean().default(false).describe('QcCompliance: the certificate is qualified.'),
  sscd: z.boolean().default(false).describe('QcSSCD: the key is in a qualified signature creation device.'),
  types: z
    .array(z.enum(['esign', 'eseal', 'web']))
    .default([])
    .describe('QcType: purposes of the certificate.'),
  retentionYears: z.int().min(1).max(100).optional().describe('QcRetentionPeriod in years.'),
  limitValue: z
    .strictObject({
      currency: z
        .string()
        .regex(/^[A-Z]{3}$/, 'not an ISO 4217 currency code such as EUR')
        .describe('Currency (ISO 4217).'),
      amount: z.int().nonnegative().describe('Amount; the limit is amount · 10^exponent.'),
      exponent: z.int().min(0).max(20).describe('Exponent to base ten.'),
    })
    .optional()
    .describe('QcLimitValue: limit on the value of transactions.'),
  disclosureStatements: z
    .array(
      z.strictObject({
        url: PublicUrl.refine((url) => url.startsWith('https://'), 'not an https URL').describe('URL of the statement.'),
        language: z
          .string()
          .regex(/^[a-z]{2}$/, 'not an ISO 639-1 language code')
          .describe('Language of the statement (ISO 639-1).'),
      }),
    )
    .default([])
    .describe('QcPDS: disclosure statements. EN 319 412-5 4.3.4 requires one in English, over https.'),
  legislationCountries: z
    .array(z.string().regex(/^[A-Z]{2}$/, 'not an ISO 3166-1 country code'))
    .default([])
    .describe('QcCClegislation: countries under whose law the certificate is qualified. Empty: the European Union.'),
  semantics: z
    .enum(['natural', 'legal'])
    .optional()
    .describe('id-etsi-qcs-semanticsId-Natural or -Legal (EN 319 412-1 §5.1): meaning of serialNumber or organizationIdentifier.'),
});
export type QcStatements = z.output<typeof QcStatements>;

const AttributeName = z.string().min(1).max(64);

/** Rules for subjects. Attributes are given by RFC 4519 name (`organizationName`) or OID. */
const SubjectRules = z.strictObject({
  person: z
    .enum(['natural', 'legal'])
    .optional()
    .describe('The attributes of ETSI EN 319 412-2 §4.2.4 (natural person) or EN 319 412-3 §4.2.1 (legal person) are required.'),
  required: z.array(AttributeName).default([]).describe('Further attributes that every subject must have.'),
  allowed: z
    .array(AttributeName)
    .optional()
    .describe(
      'Attributes allowed in addition to the required ones, countryName and commonName. Default: all except emailAddress, which must be listed here or in required.',
    ),
  countries: z
    .array(z.string().regex(/^[A-Z]{2}$/, 'not an ISO 3166-1 country code'))
    .optional()
    .describe('Countries allowed in a subject (ISO 3166-1). Default: all.'),
  defaultCountry: z
    .string()
    .regex(/^[A-Z]{2}$/, 'not an ISO 3166-1 country code')
    .optional()
    .describe("Country of a subject if the identity provider's token contains none."),
});
export type SubjectRules = z.output<typeof SubjectRules>;

const Policy = z.union([
  ObjectIdentifierText,
  z.strictObject({
    policy: ObjectIdentifierText.describe('OID of the policy.'),
    practiceStatementUrl: PublicUrl.describe('URL of the certification practice statement (RFC 5280 4.2.1.4).'),
  }),
]);
export type Policy = z.output<typeof Policy>;

/**
 * Content of a tenant's certificates (contract §7). The tenant determines the profile, never the
 * request.
 */
export const CertificateProfile = z.strictObject({
  keyType: z.enum(keyTypes).describe("Type of the tenant's keys."),
  keyUsage: z.array(z.enum(keyUsages)).min(1).default(['contentCommitment']).describe('keyUsage of the certificates.'),
  extendedKeyUsage: z.array(ObjectIdentifierText).default([]).describe('OIDs of extendedKeyUsage; empty: none.'),
  policies: z.array(Policy).default([]).describe('certificatePolicies: OIDs, or objects with a practice statement.'),
  qcStatements: QcStatements.optional(),
  subject: SubjectRules.prefault({}),
  urls: PublicationUrls.prefault({}),
  defaultValidityMinutes: z
    .int()
    .positive()
    .default(60)
    .describe('Validity of a certificate in minutes if the request has no validityPeriod.'),
  maxValidityMinutes: z
    .int()
    .positive()
    .default(24 * 60)
    .describe('Maximum validity in minutes; a longer validityPeriod is reduced to it.'),
  allowedExtensions: z
    .array(ObjectIdentifierText)
    .default(['2.5.29.17'])
    .describe('OIDs of extensions that extensionRequest may add. subjectAltName (2.5.29.17) includes subjectAlternativeName.'),
  allowedAlternativeNames: z
    .array(z.enum(alternativeNameKinds))
    .default(['rfc822Name'])
    .describe('Kinds of name that a subjectAltName may contain.'),
  allowedDirectoryAttributes: z
    .array(ObjectIdentifierText)
    .default([])
    .describe('OIDs of attributes that may go into subjectDirectoryAttributes.'),
});
export type CertificateProfile = z.output<typeof CertificateProfile>;
