import type { Generated } from 'kysely';

/** A certificate that this service issued. */
export interface CertificateRow {
  sha1: string;
  tenant: string;
  /** The configured name of its certificate authority. */
  authority: string;
  /** Hexadecimal. */
  serial_number: string;
  der: Uint8Array;
  not_before: number;
  not_after: number;
}

export interface Issuing {
  /** Of `issuing_chains`; null for a certificate that an earlier version issued. */
  issuing_chain: Generated<string | null>;
}

/**
 * The certificate that a certificate was issued under, and those above it. Few: as many as
 * authorities had in their time.
 */
export interface IssuingChainRow {
  /** SHA-256 of `der`, hexadecimal. */
  id: string;
  /** SEQUENCE OF Certificate (RFC 5280), DER: the issuer first. */
  der: Uint8Array;
}

/** A token of an identity provider that made a certificate and makes no other. */
export interface IdentityTokenRow {
  /** Stands for its issuer and its identifier: a SHA-256, hexadecimal. */
  id: string;
  /** When nobody accepts it any more. */
  ends_at: number;
}
