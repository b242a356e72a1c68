import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from './quickstart-description.ts';

export interface ScratchCertificates {
  readonly caCertificate: string;
  readonly server: Client;
  readonly client: Client;
}

const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-noenc'];

/**
 * Makes an authority with one server and one client certificate, valid for a day, below a directory
 * that the caller removes.
 */
export function createScratchCertificates(directory: string): ScratchCertificates {
  const authority = { certificate: join(directory, 'ca.pem'), key: join(directory, 'ca.key') };
  openssl(['req', '-x509', ...newKey, '-days', '1', '-subj', '/CN=bench CA', '-keyout', authority.key, '-out', authority.certificate]);

  const issue = (name: string, extensions: string): Client => {
    const issued = { certificate: join(directory, `${name}.pem`), key: join(directory, `${name}.key`) };
    const request = join(directory, `${name}.csr`);
    const extensionFile = join(directory, `${name}.ext`);
    writeFileSync(extensionFile, extensions);
    openssl(['req', ...newKey, '-subj', `/CN=bench ${name}`, '-keyout', issued.key, '-out', request]);
    const signing = ['-CA', authority.certificate, '-CAkey', authority.key, '-CAcreateserial', '-days', '1', '-extfile', extensionFile];
    openssl(['x509', '-req', '-in', request, ...signing, '-out', issued.certificate]);
    return issued;
  };

  return {
    caCertificate: authority.certificate,
    server: issue('server', 'subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth\n'),
    client: issue('client', 'extendedKeyUsage=clientAuth\n'),
  };
}

function openssl(parameters: readonly string[]): void {
  execFileSync('openssl', parameters, { stdio: 'pipe' });
}
