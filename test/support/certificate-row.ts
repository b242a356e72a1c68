import { createHash, generateKeyPairSync } from 'node:crypto';
import type { CertificateRow } from '../../src/state/tables/certificates.ts';
import { openssl } from './openssl.ts';

/** A certificate for any key: these tests look at keys. */
export function certificateRow(): CertificateRow {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const pem = openssl(['req', '-x509', '-key', '{key}', '-subj', '/CN=test', '-days', '2'], {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
  });
  const der = Buffer.from(pem.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64');
  return {
    sha1: createHash('sha1').update(der).digest('hex'),
    tenant: 'demo',
    authority: 'issuing',
    serial_number: createHash('sha1').update(der).digest('hex'),
    der,
    not_before: Date.now(),
    not_after: Date.now() + 86_400_000,
  };
}
