import { resolve } from 'node:path';
import { z } from 'zod';
import { PublicationUrls } from './profile.ts';

const FilePath = z.string().min(1);

/** Part of URLs such as `/pki/{name}.crl`. */
export const AuthorityName = z.string().regex(/^[a-z0-9][a-z0-9-]{0,63}$/, 'not a name of lower-case letters, digits and hyphens');

const Crl = z
  .strictObject({
    enabled: z.boolean().default(true).describe('False: another system publishes the CRLs.'),
    lifetimeSeconds: z
      .int()
      .min(60)
      .default(24 * 3600)
      .describe('Time from thisUpdate to nextUpdate.'),
    renewBeforeSeconds: z
      .int()
      .min(10)
      .default(12 * 3600)
      .describe('A new CRL is issued this long before the old one expires, even if nothing was revoked.'),
    keepExpired: z
      .boolean()
      .default(false)
      .describe('Expired certificates stay on the list, which says so (expiredCertsOnCRL, X.509 9.5.2.8).'),
    cacheSeconds: z
      .int()
      .nonnegative()
      .default(60)
      .describe('How long HTTP caches may keep a CRL, and so how long a revocation may take to be visible.'),
  })
  .refine(({ lifetimeSeconds, renewBeforeSeconds }) => renewBeforeSeconds < lifetimeSeconds, {
    path: ['renewBeforeSeconds'],
    message: 'must be less than lifetimeSeconds',
  });

const Ocsp = z
  .strictObject({
    enabled: z.boolean().default(true).describe('False: no responder at /ocsp/{name}.'),
    lifetimeSeconds: z.int().min(60).max(31_536_000).default(3600).describe('Time from thisUpdate to nextUpdate of a response.'),
    renewBeforeSeconds: z
      .int()
      .min(1)
      .default(1800)
      .describe('A response without a nonce is cached until this long before it expires, or until the certificate is revoked.'),
    cacheSeconds: z.int().nonnegative().default(60).describe('How long HTTP caches may keep a response to GET (RFC 5019 §6.2).'),
    neverIssued: z
      .enum(['unknown', 'revoked'])
      .default('unknown')
      .describe(
        'Status of a serial number that was never issued. `revoked`: on hold since 1970, with the extension of RFC 6960 4.4.8; only for an authority whose certificates were all issued by this service.',
      ),
    keyType: z
      .enum(['RSA-3072', 'RSA-4096', 'P-256', 'P-384'])
      .default('P-256')
      .describe("Type of the responder's keys, which are created on the token."),
    certificateHours: z
      .int()
      .min(1)
      .max(24 * 366)
      .default(7 * 24)
      .describe("Lifetime of the responder's certificate. The next one, with a new key, is issued when a third of it is left."),
  })
  .refine(({ lifetimeSeconds, renewBeforeSeconds }) => renewBeforeSeconds < lifetimeSeconds, {
    path: ['renewBeforeSeconds'],
    message: 'must be less than lifetimeSeconds',
  })
  .refine(({ lifetimeSeconds, certificateHours }) => lifetimeSeconds <= certificateHours * 1200, {
    path: ['lifetimeSeconds'],
    message: 'must be at most a third of certificateHours',
  });
export type OcspConfig = z.output<typeof Ocsp>;

/** The CA of TLS clients, and of the API's own certificate if signetctl setup issued it. */
export const ClientAuthority = z.strictObject({
  name: AuthorityName.default('client').describe(
    'Name of its CRL: the public listener serves it at /pki/{name}.crl. No authority of certificateAuthorities has this name.',
  ),
  certificate: FilePath.describe(
    'PEM file with its self-signed certificate. listeners.api.clientCertificateAuthority must contain it too, for client issue and renew.',
  ),
  keyId: z
    .string()
    .regex(/^52[0-9a-f]{32}$/, 'not the CKA_ID of a root, which begins with 52')
    .describe('CKA_ID of its key on the token, hexadecimal.'),
  crossCertificates: z
    .array(FilePath)
    .default([])
    .describe(
      'PEM files with certificates of this CA by its predecessor, and with that of the predecessor: until all clients trust this CA, signetctl server renew adds the former to the certificate of the API.',
    ),
  crl: Crl.prefault({}).describe('Its CRL, with the certificates of revoked clients. It is published if there is a public listener.'),
  urls: PublicationUrls.pick({ crl: true }).prefault({}).describe('URLs in the client certificates that it issues: of its CRL.'),
});

/** A certificate authority whose key is on the token. */
export const CertificateAuthority = z.strictObject({
  certificate: FilePath.describe('PEM file with its certificate.'),
  chain: z.array(FilePath).default([]).describe('PEM files with the certificates above it, the root last.'),
  crossCertificates: z
    .array(FilePath)
    .default([])
    .describe(
      'PEM files with further certificates of this authority or of those above it, from other issuers (cross-certificates). trustedCA selects a chain among all of them.',
    ),
  keyId: z
    .string()
    .regex(
      /^(49|52)[0-9a-f]{32}$/,
      'not the CKA_ID of a CA, which begins with 49 or 52; one that begins with 53 comes from an earlier version and is changed by signetctl token purpose',
    )
    .describe('CKA_ID of its key on the token, hexadecimal.'),
  retired: z
    .boolean()
    .default(false)
    .describe(
      'True: the authority has issued its last CRL (signetctl ca retire), which is served on. Its key signs nothing any more and need not be on the token; it has no OCSP responder, and revokes nothing.',
    ),
  crl: Crl.prefault({}),
  ocsp: Ocsp.prefault({}).describe('OCSP responder of this authority (RFC 6960), at /ocsp/{name} on the public listener.'),
  urls: PublicationUrls.prefault({}).describe(
    'URLs in the certificates that it issues: of its CRL, its OCSP responder and its own certificate.',
  ),
});
type CertificateAuthority = z.output<typeof CertificateAuthority>;

/**
 * Whether an authority has a root's key, which shows in the first byte of its id
 * (`token/key-id.ts`).
 */
export function hasRootKey(authority: Pick<CertificateAuthority, 'keyId'> | undefined): boolean {
  return authority?.keyId.startsWith('52') === true;
}

/** Makes the paths absolute. */
export function absoluteAuthority(authority: CertificateAuthority, base: string): CertificateAuthority {
  const absolute = (files: readonly string[]): string[] => files.map((file) => resolve(base, file));
  return {
    ...authority,
    ocsp: { ...authority.ocsp, enabled: authority.ocsp.enabled && !authority.retired },
    certificate: resolve(base, authority.certificate),
    chain: absolute(authority.chain),
    crossCertificates: absolute(authority.crossCertificates),
  };
}
