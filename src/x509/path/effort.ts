import { effortMaxMicroseconds, pairMicroseconds } from '../known-signatures.ts';
import type { PathCertificate } from './path-certificate.ts';
import { TooMuchEffort } from './path-fault.ts';

/** Limit on comparisons of names with constraints; about 10 ms in total. */
const comparisonsMax = 50_000;

/**
 * Limits the cost of one path search over all candidates. Certificates may be hostile, and
 * candidates multiply. A signature costs what its key costs, and nothing if it was verified before
 * (`verifyAhead`).
 */
export class Effort {
  readonly #signed = new Map<PathCertificate, Map<PathCertificate, boolean>>();
  #microseconds = 0;
  #comparisons = 0;

  /**
   * Whether the issuer's key signed the certificate.
   * @throws {TooMuchEffort}
   */
  isSignedBy(certificate: PathCertificate, issuer: PathCertificate): boolean {
    const byIssuer = this.#signed.get(certificate) ?? new Map<PathCertificate, boolean>();
    this.#signed.set(certificate, byIssuer);
    const known = byIssuer.get(issuer);
    if (known !== undefined) return known;
    this.#microseconds += pairMicroseconds({ signed: certificate.der, subjectPublicKeyInfo: issuer.subjectPublicKeyInfo });
    if (this.#microseconds > effortMaxMicroseconds) throw new TooMuchEffort('signatures');
    const isSigned = certificate.isSignedBy(issuer);
    byIssuer.set(issuer, isSigned);
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
