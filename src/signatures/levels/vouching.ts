import type { PathCertificate } from '../../x509/path/path-certificate.ts';
import { Effort } from '../../x509/path/effort.ts';
import { findPath } from '../../x509/path/find-path.ts';
import { PathFault } from '../../x509/path/path-fault.ts';

/**
 * Tells whether someone whom the operator trusts vouches for a certificate, and so for the servers
 * that it names. `above`: the certificates above it, from its issuer up.
 */
export type Vouches = (certificate: PathCertificate, above: readonly PathCertificate[]) => boolean;

/** For chains from the service's own records, of which no caller chose a certificate. */
export const alwaysVouched: Vouches = () => true;

/**
 * Returns a rule for chains that callers or other servers chose: a certificate is vouched for if
 * its path, valid now (RFC 5280 §6.1), ends at one of the anchors. Each certificate of a chain
 * counts for itself: above one that an anchor issued, a caller may put others of the same name and
 * key. The certificates of one chain share the effort.
 */
export function vouchedBy(anchors: () => readonly PathCertificate[]): Vouches {
  const effort = new Effort();
  return (certificate, above) => {
    try {
      findPath(certificate, { anchors: anchors(), intermediates: above }, { at: new Date(), effort });
      return true;
    } catch (error) {
      if (error instanceof PathFault) return false;
      throw error;
    }
  };
}
