import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newIssuingAuthority, newRoot } from '../certificates/new-authority.ts';
import { pem } from '../certificates/pem.ts';
import { subjectName } from '../certificates/subject.ts';
import { loadTokenConfig } from '../config/config.ts';
import type { PublicationUrls } from '../config/profile.ts';
import { createLog } from '../telemetry/log.ts';
import { TokenClient } from '../token/client/token-client.ts';
import { newKeyId } from '../token/key-id.ts';
import type { AuthorityEntries } from './configuration.ts';
import { layout } from './layout.ts';

export const rootCertificate = join(layout.pki, 'root.pem');

function urlsOf(publicUrl: string, authority: string): PublicationUrls {
  return {
    crl: [`${publicUrl}/pki/${authority}.crl`],
    ocsp: [`${publicUrl}/ocsp/${authority}`],
    caIssuers: [`${publicUrl}/pki/${authority}.cer`],
  };
}

/** Makes a root and an issuing CA whose keys are on the token, and writes their certificates. They publish below the URL. */
export async function makeAuthorities(publicUrl: string): Promise<AuthorityEntries> {
  mkdirSync(layout.pki, { recursive: true, mode: 0o700 });
  const token = new TokenClient(loadTokenConfig(layout.config), layout.config, createLog('warn'));
  await token.start();
  try {
    const rootId = newKeyId('service');
    const root = await newRoot(token, {
      keyId: rootId,
      keyType: 'P-384',
      name: subjectName({ country: 'FR', organizationName: 'signetd quickstart', commonName: 'Quickstart Root CA' }),
      years: 20,
      urls: urlsOf(publicUrl, 'root'),
    });
    const issuingId = newKeyId('service');
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
  } finally {
    await token.stop();
  }
}
