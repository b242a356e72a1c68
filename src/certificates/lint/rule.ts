import type { Certificate } from '../../x509/certificate.ts';
import type { ReadExtension, TbsCertificate } from '../../x509/tbs-certificate.ts';

/** Input of a rule. */
export interface Subject {
  readonly tbs: TbsCertificate;
  /** Length of the TBSCertificate in DER. */
  readonly tbsBytes: number;
  readonly issuer: Certificate;
}

/** A rule for certificates of end entities. Its name and source go into the refusal. */
export interface Rule {
  readonly name: string;
  /** Standard and clause. */
  readonly source: string;
  /** Returns the fault, or undefined. @throws {DerError} for content that cannot be parsed */
  fault(subject: Subject): string | undefined;
}

export function extensionOf({ tbs }: Subject, oid: string): ReadExtension | undefined {
  return tbs.extensions.get(oid);
}
