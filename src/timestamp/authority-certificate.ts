import { randomBytes } from 'node:crypto';
import * as der from '../asn1/der.ts';
import { oids } from '../asn1/object-identifiers.ts';
import { issueAuthorityCertificate, type CertificateIssuer } from '../certificates/issue.ts';
import { lifetimeUnder } from '../certificates/new-authority.ts';
import * as standard from '../certificates/standard-extensions.ts';
import type { PublicationUrls } from '../config/profile.ts';

export interface AuthorityCertificateRequest {
  /** DER of the Name. */
  readonly name: Uint8Array;
  readonly subjectPublicKeyInfo: Uint8Array;
  readonly notBefore: Date;
  readonly notAfter: Date;
  /** URLs at which its issuer publishes. */
  readonly urls: PublicationUrls;
}

/**
 * Issues the certificate of a time-stamp authority, in DER, for digitalSignature and with
 * time-stamping as its only purpose, marked critical (RFC 3161 §2.3, EN 319 422 §7). Throws the
 * same errors as `issueAuthorityCertificate`.
 */
export async function createTimeStampCertificate(issuer: CertificateIssuer, request: AuthorityCertificateRequest): Promise<Uint8Array> {
  const { name, subjectPublicKeyInfo, notBefore, notAfter, urls } = request;
  const extensions = [
    standard.authorityKeyIdentifier(issuer.certificate),
    standard.subjectKeyIdentifier(subjectPublicKeyInfo),
    standard.keyUsage(['digitalSignature']),
    standard.extension(oids.extendedKeyUsage, der.sequence(der.oid(oids.timeStamping)), true),
    ...standard.publicationExtensions(urls),
  ].map((extension) => extension.der);
  const serialNumber = randomBytes(16);
  return issueAuthorityCertificate(issuer, { subject: name, subjectPublicKeyInfo, extensions, notBefore, notAfter, serialNumber });
}

/** Does the same, valid from now on for a number of years, limited by the issuer's notAfter. */
export async function certifyTimeStampKey(
  issuer: CertificateIssuer,
  { years, ...request }: Pick<AuthorityCertificateRequest, 'name' | 'subjectPublicKeyInfo' | 'urls'> & { readonly years: number },
): Promise<Uint8Array> {
  return createTimeStampCertificate(issuer, { ...request, ...lifetimeUnder(issuer, years) });
}
