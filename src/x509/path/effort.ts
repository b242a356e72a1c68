import type { PathCertificate } from './path-certificate.ts';
import { TooMuchEffort } from './path-fault.ts';

/** Limit on signature verifications; each takes up to 3 ms with the slowest keys. */
const verificationsMax = 100;
/** Limit on comparisons of names with constraints; about 10 ms in total. */
const comparisonsMax = 50_000;

/**
 * Limits the cost of one path search over all candidates. Certificates may be hostile, and
 * candidates multiply.
 */
export class Effort {
  readonly #signed = new Map<PathCertificate, Map<string, boolean>>();
  #verifications = 0;
  #comparisons = 0;

  /**
   * Whether the issuer's key signed the certificate. Issuers with the same key are tried once.
   * @throws {TooMuchEffort}
   */
  isSignedBy(certificate: PathCertificate, issuer: PathCertificate): boolean {
    const byKey = this.#signed.get(certificate) ?? new Map<string, boolean>();
    this.#signed.set(certificate, byKey);
    const key = Buffer.from(issuer.subjectPublicKeyInfo).toString('latin1');
    const known = byKey.get(key);
    if (known !== undefined) return known;
    this.#verifications += 1;
    if (this.#verifications > verificationsMax) throw new TooMuchEffort('signatures');
    const isSigned = certificate.isSignedBy(issuer);
    byKey.set(key, isSigned);
    return isSigned;
  }

  /**
   * Counts comparisons of a name with constraints, before they are made.
   * @throws {TooMuchEffort}
   */
  compare(constraints: number): void {
    this.#comparisons += constraints;
    if (this.#comparisons > comparisonsMax) throw new TooMuchEffort('names and constraints');
  }
}
