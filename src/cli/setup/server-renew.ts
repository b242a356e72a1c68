import { createPrivateKey, createPublicKey, X509Certificate, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { loadConfig } from '../../config/config.ts';
import { decryptedCredential, credentialFile } from '../../config/encrypted-credential.ts';
import { pem } from '../../x509/pem.ts';
import { withOperatorToken } from '../ca/token-work.ts';
import { certified, tlsAuthorityOf, commonNameOf, daysOf } from '../clients/authority.ts';
import { newTlsKey } from '../clients/client-key.ts';
import { readCertificates } from '../config/tls-checks.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import type { Outcome } from '../outcome.ts';
import { fields } from '../table.ts';
import { credentialKeys, storeCredential } from './credentials.ts';
import { writeOwned } from './machine.ts';
import { users } from './places.ts';

const keyCredential = 'tls-key';

export const ServerRenewOptions = z.object({
  days: z.string(),
  newKey: z.boolean().default(false),
  credentialKey: z.enum(credentialKeys, { error: `--credential-key takes one of ${credentialKeys.join(', ')}` }),
});

/**
 * `server renew`: issues the next certificate of the API with the CA that setup made, for the
 * present key or a new one, with the names of the present certificate.
 */
export async function serverRenew(configPath: string, options: z.output<typeof ServerRenewOptions>): Promise<Outcome> {
  if (process.geteuid?.() !== 0) throw new CommandError(exitCodes.refused, 'run it as root, who alone can read the key of the API');
  const days = daysOf(options.days, '--days');
  const authority = tlsAuthorityOf(configPath);
  const { certificate: file } = loadConfig(configPath).listeners.api;
  const [present] = readCertificates(file);
  const [issuer, ...others] = [authority.certificate, ...authority.crossCertificates].map(
    (path) => new X509Certificate(readFileSync(path)),
  );
  if (present === undefined || ![issuer, ...others].some((one) => one !== undefined && present.checkIssued(one))) {
    throw new CommandError(exitCodes.refused, `${file} was not issued by ${authority.certificate}: your own CA renews it`);
  }
  const hosts = hostsIn(present);
  const key = options.newKey ? newTlsKey('P-256').privateKey : presentKey();
  const subjectPublicKeyInfo = createPublicKey(key.export({ format: 'pem', type: 'pkcs8' })).export({ format: 'der', type: 'spki' });
  const [first = 'localhost'] = hosts;
  const name = commonNameOf(first.slice(0, 64), 'the first host name');
  const der = await withOperatorToken(configPath, 'server renew', async (token) =>
    certified(token, authority, { name, subjectPublicKeyInfo, end: 'server', hosts, days }),
  );
  if (options.newKey) storeCredential(keyCredential, key.export({ format: 'pem', type: 'pkcs8' }), options.credentialKey);
  // For clients who trust only the predecessor of the CA.
  const between = others.filter((one) => !one.checkIssued(one)).map(({ raw }) => raw);
  writeOwned(file, [der, ...between].map((one) => pem('CERTIFICATE', one)).join(''), 0o640, users.service);
  const until = new X509Certificate(der).validToDate.toISOString();
  return {
    json: { certificate: file, hosts, notAfter: until, isNewKey: options.newKey },
    text: fields([
      ['certificate', file],
      ['hosts', hosts.join(', ')],
      ['valid until', until],
    ]),
    notes: [
      options.newKey
        ? 'systemd reads the new key at the next start: run systemctl restart signetd.service, which loses no request'
        : 'run signetctl reload to use it',
    ],
  };
}

/** Host names and IP addresses of a certificate. */
function hostsIn({ subjectAltName = '' }: X509Certificate): string[] {
  return [...subjectAltName.matchAll(/(?:DNS|IP Address):([^,\s]+)/g)].map(([, host = '']) => host);
}

/** @throws {CommandError} */
function presentKey(): KeyObject {
  const bytes = decryptedCredential(`credential:${keyCredential}`, keyCredential);
  try {
    return createPrivateKey(bytes);
  } catch {
    throw new CommandError(exitCodes.refused, `${credentialFile(keyCredential)} is not a private key in PEM; --new-key makes another one`);
  } finally {
    bytes.fill(0);
  }
}
