/**
 * Status of a certificate according to a source of revocation data (RFC 5280 §6.3, RFC 6960 §2.2).
 */
export type CertificateStatus =
  | { readonly kind: 'good' }
  | { readonly kind: 'revoked'; readonly revokedAt: Date; readonly reason: number | undefined }
  | { readonly kind: 'undetermined'; readonly why: string };

export function undetermined(why: string): CertificateStatus {
  return { kind: 'undetermined', why };
}

/** Tolerance for clocks of CRL issuers and OCSP responders that are ahead. */
export const toleranceMs = 300_000;
