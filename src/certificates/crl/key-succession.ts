import { createHash } from 'node:crypto';
import type { CrlState } from '../../state/repositories/crls.ts';
import type { Certificate } from '../../x509/certificate.ts';

/** After this time an overdue CRL is signed with an older key than the last one. */
const newerKeyMs = 60_000;

/**
 * Decides which of several instances signs CRLs while they take over a new key of the authority one
 * after the other: those with the old key leave CRLs to those with the new one. Of two keys with the
 * same date, all instances prefer the same one.
 */
export class KeySuccession {
  readonly #newerKeyMs: number;
  #certificate: Certificate;
  #signer: string;
  /** Number of the last CRL, and since when one that needs a newer key is overdue. */
  #leftToNewer: { readonly number: number; readonly since: number } | undefined;

  constructor(certificate: Certificate, waitForNewerKeyMs = newerKeyMs) {
    this.#newerKeyMs = waitForNewerKeyMs;
    this.#certificate = certificate;
    this.#signer = digestOfKey(certificate);
  }

  /** Replaces the certificate of the authority. */
  use(certificate: Certificate): void {
    this.#certificate = certificate;
    this.#signer = digestOfKey(certificate);
  }

  /** SHA-256 of this instance's public key, hexadecimal. */
  get signer(): string {
    return this.#signer;
  }

  /** Milliseconds since epoch. */
  get signerSince(): number {
    return this.#certificate.notBefore.getTime();
  }

  /** Whether the last CRL was signed with a newer key than that of this instance. */
  isOlderThan({ signer, signer_since: since }: CrlState): boolean {
    if (signer === this.#signer) return false;
    return since > this.signerSince || (since === this.signerSince && signer > this.#signer);
  }

  /**
   * Whether a CRL that is due has been overdue for so long that no instance with the newer key can
   * be running. Call it each time that one is found to be due.
   */
  isLeftAlone({ published_number: number }: CrlState, now: number): boolean {
    if (this.#leftToNewer?.number !== number) this.#leftToNewer = { number, since: now };
    return now - this.#leftToNewer.since >= this.#newerKeyMs;
  }
}

function digestOfKey({ subjectPublicKeyInfo }: Certificate): string {
  return createHash('sha256').update(subjectPublicKeyInfo).digest('hex');
}
