import { z } from 'zod';
import { loadAuthority } from '../../certificates/configured-authority.ts';
import { loadConfig } from '../../config/config.ts';
import { certifyTimeStampKey } from '../../timestamp/authority-certificate.ts';
import { loadTimeStampSigner } from '../../timestamp/load-signer.ts';
import { writeNew } from '../ca/authority-files.ts';
import { authorityNameOf, configuredAuthority, yearsOf } from '../ca/options.ts';
import { chainBelow } from '../ca/overlap-chain.ts';
import { withOperatorToken } from '../ca/token-work.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import type { Outcome } from '../outcome.ts';
import { sectionOutcome, statusNotes, urlsOf } from './authority-section.ts';

export const CertifyOptions = z.object({
  by: z.string(),
  directory: z.string(),
  file: z.string(),
  years: z.string(),
  publicUrl: z.string().optional(),
});

/**
 * `tsa certify`: issues another certificate for the configured time-stamp authority, with the same
 * name and key.
 */
export async function tsaCertify(configPath: string, options: z.output<typeof CertifyOptions>): Promise<Outcome> {
  const by = configuredAuthority(configPath, authorityNameOf(options.by, '--by'));
  const section = loadConfig(configPath).timeStampAuthority;
  if (section === undefined) throw new CommandError(exitCodes.usage, 'the configuration has no time-stamp authority');
  const settings = { years: yearsOf(options.years, '--years'), urls: urlsOf(options.publicUrl, options.by, by) };
  return withOperatorToken(configPath, 'tsa certify', async (token) => {
    const { subject: name, subjectPublicKeyInfo } = loadTimeStampSigner(token, section).certificate;
    const made = await certifyTimeStampKey(loadAuthority(token, by), { name, subjectPublicKeyInfo, ...settings });
    const certificate = writeNew(options.directory, options.file, 'CERTIFICATE', made);
    const formerCertificates = [section.certificate, ...section.formerCertificates];
    return sectionOutcome(
      { ...section, certificate, chain: chainBelow(by), formerCertificates },
      'Issued another certificate for the time-stamp authority.',
      ['add it to the configuration, then run signetctl reload', ...statusNotes(settings.urls)],
    );
  });
}
