import type { Generated } from 'kysely';

/** CRLReason certificateHold (RFC 5280 §5.3.1), the only revocation that can be lifted. */
export const holdReason = 6;

/** Maximum octets of a serial number (RFC 5280 §4.1.2.2). */
export const serialNumberBytes = 20;

/** A certificate that is revoked or on hold. Released certificates have no row. */
export interface RevocationRow {
  /** Configured name of its certificate authority. */
  authority: string;
  /** Hexadecimal, as in `certificates`. */
  serial_number: string;
  /** CRLReason (RFC 5280 5.3.1). */
  reason: number;
  revoked_at: number;
  /** When the certificate expires. */
  not_after: number;
}

/** State of an authority's CRLs: what has changed, which numbers are taken, which CRL is served. */
export interface CrlStateRow {
  authority: string;
  /** Number of revocations and releases. */
  revision: number;
  /** The last number taken. Some are never published; none is taken twice. */
  number: Generated<number>;
  claimed_until: Generated<number>;
  published_number: Generated<number>;
  /** Revision that the published CRL covers. */
  published_revision: Generated<number>;
  /** SHA-256 of the SubjectPublicKeyInfo that verifies the published CRL, hexadecimal. */
  signer: Generated<string>;
  /** notBefore of its certificate: the latest takes precedence. */
  signer_since: Generated<number>;
  this_update: Generated<number>;
  next_update: Generated<number>;
}

/** A published CRL. */
export interface CrlRow {
  authority: string;
  number: number;
  der: Uint8Array;
}

/** A delegated OCSP responder: a key on the token, and its certificate. */
export interface OcspResponderRow {
  authority: string;
  /**
   * SHA-256 of the SubjectPublicKeyInfo of the authority that signed its certificate, hexadecimal.
   */
  signer: string;
  /** Counts up from 1. */
  generation: number;
  /** CKA_ID, hexadecimal. */
  key_id: string;
  /** The certificate. */
  der: Uint8Array;
  not_before: number;
  not_after: number;
}
