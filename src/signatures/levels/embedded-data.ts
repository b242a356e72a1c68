import { DerError } from '../../asn1/reader.ts';
import { readCrl, type Crl } from '../../revocation/crl.ts';
import { readOcspAnswer, type OcspAnswer } from '../../revocation/ocsp-answer.ts';
import { crlStatus, ocspStatus, type CertificateStatus } from '../../revocation/status.ts';
import type { ValidPath } from '../../x509/path/check-path.ts';
import { findPath } from '../../x509/path/find-path.ts';
import { pathCertificate, type PathCertificate } from '../../x509/path/path-certificate.ts';
import { PathFault } from '../../x509/path/path-fault.ts';
import { CertificateRevoked, LevelBroken } from './level-writer.ts';
import type { LongTermData } from './long-term-data.ts';

/**
 * Certificates and revocation data in a signature. Elements that cannot be read, such as SCVP
 * responses of other signers, are ignored.
 */
export class EmbeddedData {
  readonly #certificates: readonly PathCertificate[];
  readonly #crls: readonly Crl[];
  readonly #answers: readonly OcspAnswer[];
  readonly #anchors: readonly PathCertificate[];

  constructor({ certificates, crls, ocspAnswers }: LongTermData, anchors: readonly PathCertificate[]) {
    this.#certificates = readableCertificates(certificates);
    this.#anchors = anchors;
    this.#crls = crls.flatMap((bytes) => ifReadable(() => readCrl(bytes)));
    this.#answers = ocspAnswers.flatMap((bytes) => ifReadable(() => readOcspAnswer(bytes)));
  }

  pathOf(signer: PathCertificate, at: Date): ValidPath {
    try {
      return findPath(signer, { anchors: this.#anchors, intermediates: this.#certificates }, { at });
    } catch (error) {
      if (error instanceof PathFault) throw new LevelBroken(`the signer certificate: ${error.message}`, { cause: error });
      throw error;
    }
  }

  /**
   * Checks whether the status of every certificate below the anchor is shown.
   * @throws {CertificateRevoked} if one is revoked that is not `mayBeRevoked`
   */
  isShown({ anchor, path }: ValidPath, at: Date, { mayBeRevoked }: { readonly mayBeRevoked?: PathCertificate | undefined } = {}): boolean {
    return path.every((certificate, index) => {
      const status = this.#statusOf(certificate, path[index - 1] ?? anchor, at);
      if (status === 'revoked' && certificate !== mayBeRevoked)
        throw new CertificateRevoked('a certificate is revoked according to the revocation data in the signature');
      return status !== 'undetermined';
    });
  }

  #statusOf(certificate: PathCertificate, issuer: PathCertificate, at: Date): CertificateStatus['kind'] {
    const kinds = [
      ...this.#crls.flatMap((crl) => ifReadable(() => crlStatus(crl, { certificate, issuers: [issuer], at }).kind)),
      ...this.#answers.flatMap((answer) => ifReadable(() => ocspStatus(answer, { certificate, issuer, at }).kind)),
    ];
    if (kinds.includes('revoked')) return 'revoked';
    return kinds.includes('good') ? 'good' : 'undetermined';
  }
}

/** Reads certificates, ignoring those that cannot be read. */
export function readableCertificates(certificates: readonly Uint8Array[]): PathCertificate[] {
  return certificates.flatMap((bytes) => ifReadable(() => pathCertificate(bytes)));
}

/** Returns what is read in a list; an empty one if it cannot be read. */
export function ifReadable<T>(read: () => T): T[] {
  try {
    return [read()];
  } catch (error) {
    if (error instanceof DerError) return [];
    throw error;
  }
}
