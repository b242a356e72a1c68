/** What a source of revocation data says of a certificate (RFC 5280 §6.3, RFC 6960 §2.2). */
export type CertificateStatus =
  | { readonly kind: 'good' }
  | { readonly kind: 'revoked'; readonly revokedAt: Date; readonly reason: number | undefined }
  | { readonly kind: 'undetermined'; readonly why: string };

export function undetermined(why: string): CertificateStatus {
  return { kind: 'undetermined', why };
}

/** The clocks of those who make revocation data may be ahead of ours by so much. */
export const toleranceMs = 300_000;
