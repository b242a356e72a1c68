import { resolve } from 'node:path';
import { z } from 'zod';
import { PublicationUrls } from './profile.ts';

const FilePath = z.string().min(1);

/** It stands in URLs: `/pki/{name}.crl`. */
export const AuthorityName = z.string().regex(/^[a-z0-9][a-z0-9-]{0,63}$/, 'a name of lower-case letters, digits and hyphens');

const Crl = z
  .strictObject({
    enabled: z.boolean().default(true).describe('False: another system publishes its CRLs.'),
    lifetimeSeconds: z
      .int()
      .min(60)
      .default(24 * 3600)
      .describe('From thisUpdate to nextUpdate.'),
    renewBeforeSeconds: z
      .int()
      .min(10)
      .default(12 * 3600)
      .describe('A new one is issued so long before the old one ends, whether anything was revoked or not.'),
    keepExpired: z
      .boolean()
      .default(false)
      .describe('Certificates that have ended stay on the list, which says so (expiredCertsOnCRL, X.509 9.5.2.8).'),
    cacheSeconds: z
      .int()
      .nonnegative()
      .default(60)
      .describe('How long HTTP caches may keep it. A revocation is seen by everybody after this at the latest.'),
  })
  .refine(({ lifetimeSeconds, renewBeforeSeconds }) => renewBeforeSeconds < lifetimeSeconds, {
    path: ['renewBeforeSeconds'],
    message: 'less than lifetimeSeconds',
  });

const Ocsp = z
  .strictObject({
    enabled: z.boolean().default(true).describe('False: nothing is answered at /ocsp/{name}.'),
    lifetimeSeconds: z.int().min(60).max(31_536_000).default(3600).describe('From thisUpdate to nextUpdate of an answer.'),
    renewBeforeSeconds: z
      .int()
      .min(1)
      .default(1800)
      .describe('An answer without a nonce is kept, and given again, until so long before it ends; a revocation ends that at once.'),
    cacheSeconds: z.int().nonnegative().default(60).describe('How long HTTP caches may keep an answer to GET (RFC 5019 §6.2).'),
    neverIssued: z
      .enum(['unknown', 'revoked'])
      .default('unknown')
      .describe(
        'What is said of a serial number that was never issued. `revoked`: on hold since 1970, with the extension of RFC 6960 4.4.8; only for an authority whose certificates were all issued here.',
      ),
    keyType: z
      .enum(['RSA-3072', 'RSA-4096', 'P-256', 'P-384'])
      .default('P-256')
      .describe("Type of the responder's keys, which are made on the token."),
    certificateHours: z
      .int()
      .min(1)
      .max(24 * 366)
      .default(7 * 24)
      .describe("Life of the responder's certificate. The next one, with another key, is made when a third of it is left."),
  })
  .refine(({ lifetimeSeconds, renewBeforeSeconds }) => renewBeforeSeconds < lifetimeSeconds, {
    path: ['renewBeforeSeconds'],
    message: 'less than lifetimeSeconds',
  })
  .refine(({ lifetimeSeconds, certificateHours }) => lifetimeSeconds <= certificateHours * 1200, {
    path: ['lifetimeSeconds'],
    message: 'at most a third of certificateHours',
  });
export type OcspConfig = z.output<typeof Ocsp>;

/** A certificate authority whose key is on the token. */
export const CertificateAuthority = z.strictObject({
  certificate: FilePath.describe('PEM file of its certificate.'),
  chain: z.array(FilePath).default([]).describe('The certificates above it, the root last.'),
  crossCertificates: z
    .array(FilePath)
    .default([])
    .describe(
      'Further certificates of this authority or of those above it, by other issuers (cross-certificates): trustedCA chooses a chain among all.',
    ),
  keyId: z
    .string()
    .regex(
      /^(49|52)[0-9a-f]{32}$/,
      'the CKA_ID of a CA, which begins with 49 or 52; one that begins with 53 is of an earlier version: signetctl token purpose changes it',
    )
    .describe('CKA_ID of its key on the token, hexadecimal.'),
  crl: Crl.prefault({}),
  ocsp: Ocsp.prefault({}).describe('The OCSP responder of this authority (RFC 6960), at /ocsp/{name} of the public listener.'),
  urls: PublicationUrls.prefault({}).describe('Where the certificates that it issues say that their status and its own certificate are.'),
});
type CertificateAuthority = z.output<typeof CertificateAuthority>;

/** Whether the key of an authority was made for a root: its first byte says so (`token/key-id.ts`). */
export function hasRootKey(authority: Pick<CertificateAuthority, 'keyId'> | undefined): boolean {
  return authority?.keyId.startsWith('52') === true;
}

/** The same with absolute paths. */
export function absoluteAuthority(authority: CertificateAuthority, base: string): CertificateAuthority {
  const absolute = (files: readonly string[]): string[] => files.map((file) => resolve(base, file));
  return {
    ...authority,
    certificate: resolve(base, authority.certificate),
    chain: absolute(authority.chain),
    crossCertificates: absolute(authority.crossCertificates),
  };
}
