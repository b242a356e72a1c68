import { oids } from '../asn1/object-identifiers.ts';
import type { ValidPath } from '../x509/path/check-path.ts';
import { PathFault, TooMuchEffort } from '../x509/path/path-fault.ts';
import { Effort } from '../x509/path/effort.ts';
import { findPath, type PathMaterial } from '../x509/path/find-path.ts';
import type { PathCertificate } from '../x509/path/path-certificate.ts';

/** Trust in chains of time-stamp authorities. */
export interface TokenTrust {
  readonly anchors: readonly PathCertificate[];
  /**
   * If no anchor is reached, the last known certificate of the chain counts as one, since whoever
   * gave the authority's URL vouches for it.
   */
  readonly anyRoot?: boolean | undefined;
  /** Further CA certificates. */
  readonly intermediates?: readonly PathCertificate[] | undefined;
}

/**
 * Returns the valid path to the certificate of a token's signer, at the time of the token.
 * `beside`: the token's other certificates.
 * @throws {PathFault}
 */
export function tokenPath(own: PathCertificate, beside: readonly PathCertificate[], trust: TokenTrust, time: Date): ValidPath {
  const effort = new Effort();
  const options = { at: time, purpose: oids.timeStamping, effort };
  const material: PathMaterial = { anchors: trust.anchors, intermediates: [...beside, ...(trust.intermediates ?? [])] };
  try {
    return findPath(own, material, options);
  } catch (error) {
    if (trust.anyRoot !== true || !(error instanceof PathFault) || error instanceof TooMuchEffort) throw error;
    const tops = topsOf(own, material, options);
    if (tops.length === 0) throw error;
    return findPath(own, { ...material, anchors: tops }, options);
  }
}

/**
 * Returns authorities without a known issuer, and roots. Tokens usually omit the root (EN 319 422),
 * and often everything but the signer's certificate.
 */
function topsOf(
  own: PathCertificate,
  { anchors, intermediates }: PathMaterial,
  { at, effort }: { readonly at: Date; readonly effort: Effort },
): PathCertificate[] {
  const known = [...anchors, ...intermediates];
  const isTop = (one: PathCertificate): boolean =>
    (one.isSelfIssued && effort.isSignedBy(one, one)) ||
    !known.some((other) => other.subjectName.key === one.issuerName.key && effort.isSignedBy(one, other));
  const isAuthority = (one: PathCertificate): boolean => one.isCa && at >= one.notBefore && at <= one.notAfter;
  const tops = intermediates.filter((one) => isAuthority(one) && isTop(one));
  return isTop(own) ? [own, ...tops] : tops;
}
