import { createPublicKey } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openssl } from './openssl.ts';
import type { ScratchAuthority } from './scratch-authority.ts';

/**
 * Has a CA that OpenSSL runs certify a public key (SubjectPublicKeyInfo, DER) under a common name. Answers the path of
 * the certificate, PEM.
 */
export function certifyKey(authority: ScratchAuthority, directory: string, commonName: string, publicKeyInfo: Uint8Array): string {
  const key = createPublicKey({ key: Buffer.from(publicKeyInfo), format: 'der', type: 'spki' });
  const files = {
    ca: readFileSync(authority.certificate),
    key: readFileSync(authority.key),
    public: key.export({ format: 'pem', type: 'spki' }),
  };
  // The request has another key, which the last argument replaces.
  const subject = ['-subj', `/C=FR/O=Example/OU=0002 000000000/CN=${commonName}`];
  const request = openssl(['req', '-new', '-key', '{key}', ...subject, '-out', '{request}'], files, 'request');
  const certifying = ['x509', '-req', '-in', '{request}', '-CA', '{ca}', '-CAkey', '{key}', '-days', '2', '-force_pubkey', '{public}'];
  const certificate = openssl([...certifying, '-out', '{certificate}'], { ...files, request }, 'certificate');
  const path = join(directory, `${authority.name}-${commonName}.pem`);
  writeFileSync(path, certificate);
  return path;
}
