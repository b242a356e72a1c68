import type { PathCertificate } from './path-certificate.ts';
import { PathFault } from './path-fault.ts';

/** Signatures of certificates that are verified at most: some 3 ms each with the slowest keys. */
const verificationsMax = 100;
/** Names that are compared with name constraints at most: some 10 ms. */
const comparisonsMax = 50_000;

/** Whoever made the certificates made so many of them, or put so much into them, that to look on would hold up everybody else. */
export class TooMuchEffort extends PathFault {
  constructor(what: string) {
    super(`its certificates have more ${what} than are looked at`, 0);
  }
}

/** What one search for a path may cost, over all candidates: certificates come from strangers, and their number multiplies. */
export class Effort {
  readonly #signed = new Map<PathCertificate, Map<string, boolean>>();
  #verifications = 0;
  #comparisons = 0;

  /** Whether the issuer's key signed the certificate; of several issuers with one key one is tried. @throws {TooMuchEffort} */
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

  /** Before so many constraints are compared with a name. @throws {TooMuchEffort} */
  compare(constraints: number): void {
    this.#comparisons += constraints;
    if (this.#comparisons > comparisonsMax) throw new TooMuchEffort('names and constraints');
  }
}
