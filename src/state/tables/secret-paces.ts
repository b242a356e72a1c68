/** Wrong secrets of a client or of a tenant: what is missing from a token bucket. */
export interface SecretPaceRow {
  /** `client ` and the SHA-256 of its SubjectPublicKeyInfo, or `tenant ` and its name. */
  subject: string;
  /** Tokens that were missing at a time; a fraction. */
  missing: number;
  /** Milliseconds since epoch. */
  as_of: number;
}
