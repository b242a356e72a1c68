import type { KeyObject, X509Certificate } from 'node:crypto';
import { children, DerError, readAll } from '../asn1/reader.ts';
import { dataVerifies } from '../verification/verify-value.ts';
import { verificationRule } from './signature-identifier.ts';

/**
 * Whether a key signed a certificate (RFC 5280 §4.1.1). Names, validity and extensions are not
 * checked.
 */
export function certificateVerifies(certificate: Uint8Array, key: KeyObject): boolean {
  try {
    const [toBeSigned, algorithm, value, ...more] = children(readAll(certificate));
    if (toBeSigned === undefined || algorithm === undefined || value === undefined || more.length > 0) return false;
    // RFC 5280 §4.1.1.2: the outer algorithm must equal the signed one, which follows the version
    // and serial number.
    const fields = children(toBeSigned);
    const inside = fields[fields[0]?.tag === 0xa0 ? 2 : 1];
    if (inside === undefined || Buffer.compare(inside.raw, algorithm.raw) !== 0) return false;
    const isWholeOctets = value.tag === 0x03 && value.content[0] === 0;
    return isWholeOctets && dataVerifies(key, verificationRule(algorithm), toBeSigned.raw, value.content.subarray(1));
  } catch (error) {
    // Without valid DER and a supported algorithm, no signature can be verified.
    if (error instanceof DerError) return false;
    throw error;
  }
}

/** Whether a certificate names another one as its issuer and was signed with its key. */
export function isIssuedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  return certificate.checkIssued(issuer) && certificateVerifies(certificate.raw, issuer.publicKey);
}
