import { createHash } from 'node:crypto';
import { z } from 'zod';
import { loadAuthority } from '../../certificates/configured-authority.ts';
import { certifyAuthority } from '../../certificates/new-authority.ts';
import { readCertificate, type Certificate } from '../../x509/certificate.ts';
import { distinguishedNameText } from '../../x509/distinguished-name.ts';
import type { Outcome } from '../outcome.ts';
import { fields } from '../table.ts';
import { publishedUrls, sectionText, writeNew } from './authority-files.ts';
import { authorityNameOf, configuredAuthority, yearsOf, type ConfiguredAuthority } from './options.ts';
import { chainBelow } from './overlap-chain.ts';
import { withOperatorToken } from './token-work.ts';

export const CertifyOptions = z.object({
  authority: z.string(),
  by: z.string(),
  directory: z.string(),
  file: z.string(),
  main: z.boolean().default(false),
  years: z.string(),
  publicUrl: z.string().optional(),
});

/**
 * `ca certify`: issues another certificate for the existing key of a configured CA: a renewal by
 * its own root, or a cross-certificate by another. With `main`, signatures contain the new
 * certificate from now on, with a chain for receivers who trust either root.
 */
export async function caCertify(configPath: string, options: z.output<typeof CertifyOptions>): Promise<Outcome> {
  const authority = configuredAuthority(configPath, authorityNameOf(options.authority, '--authority'));
  const by = configuredAuthority(configPath, authorityNameOf(options.by, '--by'));
  const settings = { years: yearsOf(options.years, '--years'), ...publishedUrls(options.publicUrl, options.by) };
  return withOperatorToken(configPath, 'ca certify', async (token) => {
    const present = loadAuthority(token, authority);
    const made = readCertificate(await certifyAuthority(token, loadAuthority(token, by), present, settings));
    const certificate = writeNew(options.directory, options.file, 'CERTIFICATE', made.der);
    const isSelf = options.authority === options.by;
    const isRenewal = Buffer.compare(present.certificate.issuer, made.issuer) === 0;
    const certificateAuthorities = {
      [options.authority]:
        options.main && !isSelf
          ? mainSection(authority, by, certificate)
          : isRenewal
            ? { certificate, crossCertificates: [...authority.crossCertificates, authority.certificate] }
            : { crossCertificates: [...authority.crossCertificates, certificate] },
    };
    const lines = certificateFields(made);
    return {
      json: { certificate, ...Object.fromEntries(lines.map(({ member, value }) => [member, value])), certificateAuthorities },
      text: [
        `Issued ${isRenewal ? 'the next certificate' : 'a cross-certificate'} of "${options.authority}", signed by "${options.by}".\n`,
        fields([['certificate', certificate], ...lines.map(({ label, value }) => [label, value] as const)]),
        sectionText(certificateAuthorities),
      ].join(''),
      notes: ['once it is in the configuration, run signetctl config check and signetctl reload'],
    };
  });
}

/** Puts the new certificate first and keeps every other one, so that `trustedCA` finds all chains. */
function mainSection(authority: ConfiguredAuthority, by: ConfiguredAuthority, certificate: string): object {
  const chain = chainBelow(by);
  const others = [...authority.crossCertificates, authority.certificate, ...authority.chain, by.certificate, ...by.chain];
  return { certificate, chain, crossCertificates: [...new Set(others)].filter((file) => !chain.includes(file)) };
}

interface CertificateField {
  /** In JSON. */
  readonly member: string;
  readonly label: string;
  readonly value: string;
}

/** Returns what an operator looks at before a certificate is put to use. */
function certificateFields({ der, subject, issuer, serialNumber, notBefore, notAfter, sha1Fingerprint }: Certificate): CertificateField[] {
  // As OpenSSL shows it: without the zero octet of a positive INTEGER.
  const serial = Buffer.from(serialNumber)
    .toString('hex')
    .replace(/^00(?=.)/, '');
  return [
    { member: 'subject', label: 'subject', value: distinguishedNameText(subject) },
    { member: 'issuer', label: 'issuer', value: distinguishedNameText(issuer) },
    { member: 'serialNumber', label: 'serial number', value: serial },
    { member: 'notBefore', label: 'valid from', value: notBefore.toISOString() },
    { member: 'notAfter', label: 'valid until', value: notAfter.toISOString() },
    { member: 'sha1', label: 'SHA-1', value: sha1Fingerprint },
    { member: 'sha256', label: 'SHA-256', value: createHash('sha256').update(der).digest('hex') },
  ];
}
