import type { Certificate } from '../../x509/certificate.ts';
import type { ReadExtension, TbsCertificate } from '../../x509/tbs-certificate.ts';

/** What a rule looks at. */
export interface Subject {
  readonly tbs: TbsCertificate;
  /** Length of the TBSCertificate in DER. */
  readonly tbsBytes: number;
  readonly issuer: Certificate;
}

/** A rule for certificates of end entities. It names itself and its source to whoever is refused by it. */
export interface Rule {
  readonly name: string;
  /** Standard and clause. */
  readonly source: string;
  /** What is wrong, or undefined. @throws {DerError} for what cannot be read */
  fault(subject: Subject): string | undefined;
}

export function extensionOf({ tbs }: Subject, oid: string): ReadExtension | undefined {
  return tbs.extensions.get(oid);
}
