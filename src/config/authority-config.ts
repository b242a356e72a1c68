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
    .regex(/^53[0-9a-f]{32}$/)
    .describe('CKA_ID of its key on the token, hexadecimal.'),
  crl: Crl.prefault({}),
  urls: PublicationUrls.prefault({}).describe('Where the certificates that it issues say that their status and its own certificate are.'),
});
type CertificateAuthority = z.output<typeof CertificateAuthority>;

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
