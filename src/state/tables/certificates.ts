import type { Generated } from 'kysely';

/** A certificate that this service issued. */
export interface CertificateRow {
  sha1: string;
  tenant: string;
  /** Configured name of its certificate authority. */
  authority: string;
  /** Hexadecimal. */
  serial_number: string;
  der: Uint8Array;
  not_before: number;
  not_after: number;
}

export interface Issuing {
  /** Identifier in `issuing_chains`; null if an earlier version issued the certificate. */
  issuing_chain: Generated<string | null>;
}

/**
 * The issuing certificate and those above it. There are few: as many as the authorities have had.
 */
export interface IssuingChainRow {
  /** SHA-256 of `der`, hexadecimal. */
  id: string;
  /** SEQUENCE OF Certificate (RFC 5280), DER: the issuer first. */
  der: Uint8Array;
}

/** A used token of an identity provider, which cannot be used again. */
export interface IdentityTokenRow {
  /** SHA-256 of its issuer and identifier, hexadecimal. */
  id: string;
  /** When the token is no longer accepted anyway. */
  ends_at: number;
}
