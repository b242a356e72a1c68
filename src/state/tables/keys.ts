import type { Generated } from 'kysely';

/**
 * The token's MAC of the contents of a row (`src/keys/seals.ts`). Both null: an earlier version
 * made the row, which is not used.
 */
export interface Sealed {
  seal_salt: Uint8Array | null;
  seal_mac: Uint8Array | null;
}

/** A caller's key (contract §6). */
export interface KeyRow extends Sealed {
  /** SHA-1 of its certificate, lower-case hexadecimal. */
  reference: string;
  tenant: string;
  /** CKA_ID on the token, hexadecimal. */
  key_id: string;
  key_type: string;
  protocol: string;
  /** A stored state of `src/keys/states.ts`; LOCKED and EXPIRED follow from counters and times. */
  state: string;
  /**
   * Empty, like the MAC, if the key has no secret of its own. 16 bytes; if the secret is stretched,
   * followed by the 16-byte scrypt salt; that of an authToken, by its SHA-256.
   */
  secret_salt: Uint8Array;
  secret_mac: Uint8Array;
  /** 1: the MAC is over the secret stretched by scrypt, since a person chose it. */
  secret_stretched: number;
  /** MAC of the transaction that the key is bound to. */
  transaction_salt: Uint8Array | null;
  transaction_mac: Uint8Array | null;
  /** JSON list of the digests that the key may sign; null: any. */
  bound_digests: string | null;
  /**
   * Failed attempts since the last success with the guessed secret, or since the last lock ended.
   */
  failures_in_row: number;
  /** Failed attempts since the last success with the guessed secret. */
  failures_since_success: number;
  /** When the lock ends. */
  locked_until: number | null;
  subscriber_email: string | null;
  subscriber_phone: string | null;
  created_at: number;
}

/**
 * Attempts on a key that are with the token, over all instances of a shared store. Those of an
 * instance that died expire.
 */
export interface Attempts {
  reserved: Generated<number>;
  /** When the last of them expires. */
  reserved_until: Generated<number | null>;
}

/** Of a key whose password was made anew under another MAC key. */
export interface Renewed {
  /** The MAC that the same password had before. */
  secret_former_mac: Generated<Uint8Array | null>;
}

/** An open one-time password (contract §6), or signature activation data. */
export interface OtpRow extends Sealed {
  reference: string;
  /**
   * SIGN, CHANGE_PASSWORD, REVOKE, AUTHORISE; of activation data: SAD, or SAD_REST once it has signed.
   */
  action: string;
  /** Identifies this password; a newer one has another value. */
  otp_id: string;
  salt: Uint8Array;
  mac: Uint8Array;
  /** JSON list, as `KeyRow.bound_digests`. */
  bound_digests: string | null;
  /** Attempts left; an attempt counts when it is reserved. */
  attempts_left: number;
  /** When the reservation of an attempt expires; null if there is none. */
  reserved_until: number | null;
  expires_at: number;
  /** Of activation data alone: the number of signatures left. */
  signatures: number | null;
  /** Of activation data alone: SHA-256 of the SubjectPublicKeyInfo of the client that may use it. */
  client: string | null;
  /** Of activation data alone: when it can no longer be exchanged for new data. */
  ends_at: number | null;
}

/**
 * A tenant with a limit on its keys: concurrent creations change this row, so that each counts the
 * other.
 */
export interface LimitedTenantRow {
  tenant: string;
  creations: number;
}

/** Wrong secrets of a client or of a tenant: what is missing from a token bucket. */
export interface SecretPaceRow {
  /** `client ` and the SHA-256 of its SubjectPublicKeyInfo, or `tenant ` and its name. */
  subject: string;
  /** Tokens that were missing at a time; a fraction. */
  missing: number;
  /** Milliseconds since epoch. */
  as_of: number;
}
