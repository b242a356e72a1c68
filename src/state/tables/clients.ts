/** A registered client certificate, by its public key (contract §8). */
export interface ClientRow {
  /** SHA-256 of SubjectPublicKeyInfo, hexadecimal. */
  spki_sha256: string;
  name: string;
  tenant: string;
  /** JSON list of roles. */
  roles: string;
  created_at: number;
  /** Validity of the newest certificate of this key that is known; null if none is. */
  not_before: number | null;
  not_after: number | null;
}

/** A client that was revoked, by the public key of its certificate. */
export interface RevokedClientRow {
  /**
   * SHA-256 of SubjectPublicKeyInfo, hexadecimal; its first 16 digits if only a record of an earlier
   * version named the client.
   */
  spki_sha256: string;
  name: string;
  tenant: string;
  registered_at: number;
  revoked_at: number;
  /** End of the newest certificate of this key that was known; null if none was. */
  not_after: number | null;
}

/** A certificate that a CA of this service issued to a client; until it expires or is revoked. */
export interface ClientCertificateRow {
  /** Name of the CA, as in the URL of its CRL. */
  authority: string;
  /** Hexadecimal, of whole octets. */
  serial_number: string;
  /** SHA-256 of SubjectPublicKeyInfo, hexadecimal. */
  spki_sha256: string;
  not_after: number;
}
