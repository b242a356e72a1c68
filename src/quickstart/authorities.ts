import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createIssuingCa, createRoot } from '../certificates/authority.ts';
import { tokenIssuer, tokenSigner } from '../certificates/configured-authority.ts';
import { subjectName } from '../certificates/subject.ts';
import { loadTokenConfig } from '../config/config.ts';
import { createLog } from '../telemetry/log.ts';
import { TokenClient } from '../token/client/token-client.ts';
import { newKeyId } from '../token/key-id.ts';
import type { AuthorityEntry } from './configuration.ts';
import { layout } from './layout.ts';

export const rootCertificate = join(layout.pki, 'root.pem');

/** Makes a root and an issuing CA whose keys are on the token, and writes their certificates. */
export async function makeAuthorities(): Promise<AuthorityEntry> {
  mkdirSync(layout.pki, { recursive: true, mode: 0o700 });
  const token = new TokenClient(loadTokenConfig(layout.config), layout.config, createLog('warn'));
  await token.start();
  try {
    const rootId = newKeyId('service');
    const rootKey = await token.createKey(rootId, 'P-384');
    const root = await createRoot({
      name: subjectName({ country: 'FR', organizationName: 'signetd quickstart', commonName: 'Quickstart Root CA' }),
      subjectPublicKeyInfo: rootKey,
      serialNumber: await token.random(16),
      ...lifetime(20),
      ...tokenSigner(token, rootId, rootKey),
    });
    const issuingId = newKeyId('service');
    const issuing = await createIssuingCa(tokenIssuer(token, rootId, root, [root]), {
      name: subjectName({ country: 'FR', organizationName: 'signetd quickstart', commonName: 'Quickstart Issuing CA' }),
      subjectPublicKeyInfo: await token.createKey(issuingId, 'P-256'),
      serialNumber: await token.random(16),
      ...lifetime(10),
    });
    const certificate = join(layout.pki, 'issuing.pem');
    writeFileSync(rootCertificate, pem(root));
    writeFileSync(certificate, pem(issuing));
    return { certificate, chain: [rootCertificate], keyId: issuingId };
  } finally {
    await token.stop();
  }
}

function lifetime(years: number): { notBefore: Date; notAfter: Date } {
  const notBefore = new Date();
  const notAfter = new Date(notBefore);
  notAfter.setUTCFullYear(notBefore.getUTCFullYear() + years);
  return { notBefore, notAfter };
}

function pem(der: Uint8Array): string {
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}
