import { hash } from 'node:crypto';
import type { Certificate } from '../../x509/certificate.ts';
import { certIdHashNames, type CertId, type CertIdHash } from './ocsp-request.ts';
import { keyHash } from './ocsp-response.ts';

/** Hashes of an authority's name and key, as they appear in CertIDs (RFC 6960 4.1.1). */
export class IssuerHashes {
  readonly #hashes: ReadonlyMap<CertIdHash, { readonly name: Uint8Array; readonly key: Uint8Array }>;

  constructor({ subject, subjectPublicKeyInfo }: Pick<Certificate, 'subject' | 'subjectPublicKeyInfo'>) {
    this.#hashes = new Map(
      certIdHashNames.map((name) => [name, { name: hash(name, subject, 'buffer'), key: keyHash(subjectPublicKeyInfo, name) }]),
    );
  }

  /** Whether the CertID names a certificate of this authority. */
  matches({ hash: algorithm, issuerNameHash, issuerKeyHash }: CertId): boolean {
    const known = algorithm === undefined ? undefined : this.#hashes.get(algorithm);
    return known !== undefined && Buffer.compare(known.name, issuerNameHash) === 0 && Buffer.compare(known.key, issuerKeyHash) === 0;
  }
}
