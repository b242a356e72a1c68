import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { command } from './command.ts';
import { clientFiles, layout } from './layout.ts';
import { loopback } from './ports.ts';

/** Clients of contract §11. `unregistered` has a valid certificate but is never registered. */
export const clients = {
  app: { tenant: 'demo', roles: ['signature', 'keys', 'revocation', 'messages', 'doc2d', 'files'] },
  other: { tenant: 'other', roles: ['signature', 'keys', 'revocation', 'messages', 'doc2d', 'files'] },
  signer: { tenant: 'demo', roles: ['signature'] },
  p384: { tenant: 'p384', roles: ['signature', 'keys', 'revocation', 'messages', 'doc2d', 'files'] },
  otp: { tenant: 'otp', roles: ['signature', 'keys', 'revocation', 'messages', 'doc2d', 'files'] },
  unregistered: undefined,
} as const;

export const tlsFiles = {
  authority: join(layout.tls, 'ca.pem'),
  authorityKey: join(layout.tls, 'ca.key'),
  revocationList: join(layout.tls, 'ca.crl'),
  server: join(layout.tls, 'server.pem'),
  serverKey: join(layout.tls, 'server.key'),
} as const;

const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
const days = ['-days', '825'];

/** Creates the CA for TLS and the certificates of server and clients, all with OpenSSL. */
export async function makeTlsMaterial(): Promise<void> {
  mkdirSync(layout.tls, { recursive: true, mode: 0o700 });
  await command('openssl', [
    ...[
      'req',
      '-x509',
      ...curve,
      ...days,
      '-subj',
      '/CN=signetd quickstart TLS CA',
      '-keyout',
      tlsFiles.authorityKey,
      '-out',
      tlsFiles.authority,
    ],
    ...['-addext', 'basicConstraints=critical,CA:TRUE,pathlen:0', '-addext', 'keyUsage=critical,keyCertSign,cRLSign'],
  ]);
  await certificate('localhost', { certificate: tlsFiles.server, key: tlsFiles.serverKey }, [
    `subjectAltName=DNS:localhost,IP:${loopback},IP:::1`,
    'extendedKeyUsage=serverAuth',
  ]);
  await makeRevocationList();
  await Promise.all(Object.keys(clients).map(makeClientCertificate));
}

/** Creates the key and the certificate of a client. */
export async function makeClientCertificate(name: string): Promise<void> {
  await certificate(name, clientFiles(name), ['extendedKeyUsage=clientAuth']);
}

/** Creates an empty CRL that is valid as long as the CA, since it is never renewed. */
async function makeRevocationList(): Promise<void> {
  const database = `${tlsFiles.revocationList}.index`;
  const settings = `${tlsFiles.revocationList}.cnf`;
  writeFileSync(database, '');
  writeFileSync(settings, `[ca]\ndefault_ca=crl\n[crl]\ndatabase=${database}\ndefault_md=sha256\n`);
  await command('openssl', [
    ...['ca', '-gencrl', '-config', settings, '-cert', tlsFiles.authority, '-keyfile', tlsFiles.authorityKey],
    ...['-crldays', '825', '-out', tlsFiles.revocationList],
  ]);
  await command('rm', ['-f', database, settings]);
}

async function certificate(commonName: string, files: { certificate: string; key: string }, extensions: readonly string[]): Promise<void> {
  const request = `${files.certificate}.csr`;
  const extensionFile = `${files.certificate}.ext`;
  writeFileSync(extensionFile, ['basicConstraints=critical,CA:FALSE', 'keyUsage=critical,digitalSignature', ...extensions, ''].join('\n'));
  await command('openssl', ['req', ...curve, '-subj', `/CN=${commonName}`, '-keyout', files.key, '-out', request]);
  await command('openssl', [
    ...['x509', '-req', '-in', request, '-CA', tlsFiles.authority, '-CAkey', tlsFiles.authorityKey, ...days],
    ...['-extfile', extensionFile, '-out', files.certificate],
  ]);
  await command('rm', ['-f', request, extensionFile]);
}
