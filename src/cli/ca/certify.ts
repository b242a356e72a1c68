import { z } from 'zod';
import { loadAuthority } from '../../certificates/configured-authority.ts';
import { certifyAuthority } from '../../certificates/new-authority.ts';
import { readCertificate } from '../../x509/certificate.ts';
import type { Outcome } from '../outcome.ts';
import { fields } from '../table.ts';
import { publishedUrls, writeNew } from './authority-files.ts';
import { authorityNameOf, configuredAuthority, yearsOf } from './options.ts';
import { withOperatorToken } from './token-work.ts';

export const CertifyOptions = z.object({
  authority: z.string(),
  by: z.string(),
  directory: z.string(),
  file: z.string(),
  years: z.string(),
  publicUrl: z.string().optional(),
});

/**
 * `ca certify`: issues another certificate for the existing key of a configured CA: a renewal by
 * its own root, or a cross-certificate by another.
 */
export async function caCertify(configPath: string, options: z.output<typeof CertifyOptions>): Promise<Outcome> {
  const authority = configuredAuthority(configPath, authorityNameOf(options.authority, '--authority'));
  const by = configuredAuthority(configPath, authorityNameOf(options.by, '--by'));
  const settings = { years: yearsOf(options.years, '--years'), ...publishedUrls(options.publicUrl, options.by) };
  return withOperatorToken(configPath, async (token) => {
    const der = await certifyAuthority(token, loadAuthority(token, by), loadAuthority(token, authority), settings);
    const { sha1Fingerprint, notAfter } = readCertificate(der);
    const certificate = writeNew(options.directory, options.file, 'CERTIFICATE', der);
    const json = { certificate, sha1: sha1Fingerprint, notAfter: notAfter.toISOString() };
    return {
      json,
      text: fields(Object.entries(json)),
      notes: [
        'for a renewal, set certificate to the new file and add the old one to crossCertificates; add a cross-certificate to crossCertificates',
      ],
    };
  });
}
