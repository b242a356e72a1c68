import type { Generated } from 'kysely';

/** A certificate that is revoked or on hold. One that is released from hold has none. */
export interface RevocationRow {
  /** The configured name of its certificate authority. */
  authority: string;
  /** Hexadecimal, as in `certificates`. */
  serial_number: string;
  /** CRLReason (RFC 5280 5.3.1). */
  reason: number;
  revoked_at: number;
  /** The certificate's end. */
  not_after: number;
}

/** The CRLs of an authority: what has changed, which numbers are used up, which CRL is served. */
export interface CrlStateRow {
  authority: string;
  /** Counts revocations and releases. */
  revision: number;
  /** The last number that was taken. Some come to nothing; none is taken twice. */
  number: Generated<number>;
  claimed_until: Generated<number>;
  published_number: Generated<number>;
  /** The revision that the published CRL covers. */
  published_revision: Generated<number>;
  /** SHA-256 of the SubjectPublicKeyInfo that verifies the published CRL, hexadecimal. */
  signer: Generated<string>;
  /** notBefore of its certificate: the later one goes before. */
  signer_since: Generated<number>;
  this_update: Generated<number>;
  next_update: Generated<number>;
}

/** The published CRL itself. */
export interface CrlRow {
  authority: string;
  number: number;
  der: Uint8Array;
}

/**
 * A delegated OCSP responder: a key on the token, and the certificate that the authority gave it.
 */
export interface OcspResponderRow {
  authority: string;
  /**
   * SHA-256 of the SubjectPublicKeyInfo of the authority that signed its certificate, hexadecimal.
   */
  signer: string;
  /** From 1; each is the next one of the one before. */
  generation: number;
  /** CKA_ID, hexadecimal. */
  key_id: string;
  /** The certificate. */
  der: Uint8Array;
  not_before: number;
  not_after: number;
}
