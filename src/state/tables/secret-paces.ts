/**
 * Wrong secrets of a client or of a tenant: a token bucket, as the time at which it is full again. A
 * bucket that is full has no row.
 */
export interface SecretPaceRow {
  /** `client ` and the SHA-256 of its SubjectPublicKeyInfo, or `tenant ` and its name. */
  subject: string;
  full_at: number;
}
