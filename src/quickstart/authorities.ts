import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadAuthority } from '../certificates/configured-authority.ts';
import { newIssuingAuthority, newRoot } from '../certificates/new-authority.ts';
import { pem } from '../x509/pem.ts';
import { subjectName } from '../certificates/subject.ts';
import { withNewKeys } from '../cli/ca/token-work.ts';
import type { PublicationUrls } from '../config/profile.ts';
import { certifyTimeStampKey } from '../timestamp/authority-certificate.ts';
import type { AuthorityEntries, AuthorityEntry } from './configuration.ts';
import { layout } from './layout.ts';
import { timeStampAuthoritySection, type TimeStampAuthorityEntry } from './time-stamps.ts';

export const rootCertificate = join(layout.pki, 'root.pem');

function urlsOf(publicUrl: string, authority: string): PublicationUrls {
  return {
    crl: [`${publicUrl}/pki/${authority}.crl`],
    ocsp: [`${publicUrl}/ocsp/${authority}`],
    caIssuers: [`${publicUrl}/pki/${authority}.cer`],
  };
}

/**
 * Creates a root and an issuing CA with keys on the token, and writes their certificates. They
 * publish below `publicUrl`.
 */
export async function makeAuthorities(publicUrl: string): Promise<AuthorityEntries> {
  mkdirSync(layout.pki, { recursive: true, mode: 0o700 });
  return withNewKeys(layout.config, 'quickstart', ['root', 'authority'], async (token, [rootId, issuingId]) => {
    if (rootId === undefined || issuingId === undefined) throw new Error('two keys were asked for');
    const root = await newRoot(token, {
      keyId: rootId,
      keyType: 'P-384',
      name: subjectName({ country: 'FR', organizationName: 'signetd quickstart', commonName: 'Quickstart Root CA' }),
      years: 20,
      urls: urlsOf(publicUrl, 'root'),
    });
    const issuing = await newIssuingAuthority(token, root, {
      keyId: issuingId,
      keyType: 'P-256',
      name: subjectName({ country: 'FR', organizationName: 'signetd quickstart', commonName: 'Quickstart Issuing CA' }),
      years: 10,
      urls: urlsOf(publicUrl, 'root'),
    });
    const certificate = join(layout.pki, 'issuing.pem');
    writeFileSync(rootCertificate, pem('CERTIFICATE', root.certificate.der));
    writeFileSync(certificate, pem('CERTIFICATE', issuing.certificate.der));
    return {
      issuing: { certificate, chain: [rootCertificate], keyId: issuingId, urls: urlsOf(publicUrl, 'issuing') },
      root: { certificate: rootCertificate, chain: [], keyId: rootId, urls: {} },
    };
  });
}

/**
 * Creates the key of the time-stamp authority on the token and has the root certify it. The service
 * must not be running.
 */
export async function makeTimeStampAuthority(
  publicUrl: string,
  root: Pick<AuthorityEntry, 'certificate' | 'keyId'>,
): Promise<TimeStampAuthorityEntry> {
  return withNewKeys(layout.config, 'quickstart', ['timeStamps'], async (token, [keyId]) => {
    if (keyId === undefined) throw new Error('a key was asked for');
    const subjectPublicKeyInfo = await token.createKey(keyId, 'P-256');
    const certificate = await certifyTimeStampKey(loadAuthority(token, { ...root, chain: [] }), {
      name: subjectName({ country: 'FR', organizationName: 'signetd quickstart', commonName: 'Quickstart Time-stamp Authority' }),
      subjectPublicKeyInfo,
      years: 10,
      urls: urlsOf(publicUrl, 'root'),
    });
    const file = join(layout.pki, 'time-stamps.pem');
    writeFileSync(file, pem('CERTIFICATE', certificate));
    return timeStampAuthoritySection({ certificate: file, chain: [root.certificate], keyId });
  });
}
