import type { X509Certificate } from 'node:crypto';
import { foundOnce } from '../asn1/read-once.ts';
import { DerError } from '../asn1/reader.ts';
import { readCertificate } from './certificate.ts';
import { pairVerifies, type SignedPair } from './known-signatures.ts';

const keyInfoOf = foundOnce((certificate: X509Certificate): Uint8Array => {
  try {
    return readCertificate(certificate.raw).subjectPublicKeyInfo;
  } catch (error) {
    if (!(error instanceof DerError)) throw error;
    // OpenSSL is laxer in places.
    return certificate.publicKey.export({ type: 'spki', format: 'der' });
  }
});

/** Whether a certificate names another one as its issuer and was signed with its key. */
export function isIssuedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  return certificate.checkIssued(issuer) && pairVerifies(pairOf(certificate, issuer));
}

/**
 * Returns the pairs among these certificates of which `isIssuedBy` verifies the signature, so that
 * it can be verified ahead.
 */
export function possiblePairs(certificates: readonly X509Certificate[]): SignedPair[] {
  return certificates.flatMap((one) => certificates.filter((issuer) => one.checkIssued(issuer)).map((issuer) => pairOf(one, issuer)));
}

export function hasSameKey(one: X509Certificate, other: X509Certificate): boolean {
  return Buffer.compare(keyInfoOf(one), keyInfoOf(other)) === 0;
}

function pairOf(certificate: X509Certificate, issuer: X509Certificate): SignedPair {
  return { signed: certificate.raw, subjectPublicKeyInfo: keyInfoOf(issuer) };
}
