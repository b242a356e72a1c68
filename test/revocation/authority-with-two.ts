import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { pathCertificate, type PathCertificate } from '../../src/x509/path/path-certificate.ts';
import { ScratchAuthority, type CertificateFiles } from '../support/scratch-authority.ts';

/** An authority made by OpenSSL that has issued a good certificate and one that it has revoked. */
export function authorityWithTwo(directory: string): { authority: ScratchAuthority; good: CertificateFiles; revoked: CertificateFiles } {
  const authority = new ScratchAuthority(directory, 'Authority');
  const good = authority.issue('Good');
  const revoked = authority.issue('Revoked');
  authority.revoke(revoked);
  return { authority, good, revoked };
}

export function read({ certificate }: Pick<CertificateFiles, 'certificate'>): PathCertificate {
  return pathCertificate(new X509Certificate(readFileSync(certificate)).raw);
}
