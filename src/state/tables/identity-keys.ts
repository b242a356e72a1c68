import type { Sealed } from './keys.ts';

/** The key of a digital identity of 2D-Doc; the configuration has its certificate. */
export interface IdentityKeyRow extends Sealed {
  /**
   * SHA-1 of its SubjectPublicKeyInfo, lower-case hexadecimal. Callers name the identity by its
   * certificate instead, which comes later and may be replaced.
   */
  reference: string;
  tenant: string;
  /** CA identifier, such as FR03. */
  ca: string;
  /** Certificate identifier: 4 characters. */
  certificate_id: string;
  /** CKA_ID on the token, hexadecimal. */
  key_id: string;
  key_type: string;
  /** SubjectPublicKeyInfo, DER. */
  public_key: Uint8Array;
  /** ACTIVE or REMOVED. */
  state: string;
  /** As those of `KeyRow`, like the counters. */
  secret_salt: Uint8Array;
  secret_mac: Uint8Array;
  secret_stretched: number;
  failures_in_row: number;
  failures_since_success: number;
  locked_until: number | null;
  created_at: number;
}
