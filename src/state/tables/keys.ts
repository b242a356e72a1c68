import type { Generated } from 'kysely';

/**
 * The token's MAC of what a row says (`src/keys/seals.ts`). Null, both: an earlier version made the
 * row, and nobody goes by it.
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
  /**
   * Those of `src/keys/states.ts` that are stored; locked and expired follow from counters and
   * times.
   */
  state: string;
  /**
   * Empty, like the MAC, where the key has no secret of its own. 16 bytes; where it is stretched,
   * 16 more are the salt of that.
   */
  secret_salt: Uint8Array;
  secret_mac: Uint8Array;
  /** 1: the MAC is over the secret as scrypt stretches it, since a person chose it. */
  secret_stretched: number;
  /** The MAC of the transaction that the key is tied to. */
  transaction_salt: Uint8Array | null;
  transaction_mac: Uint8Array | null;
  /** JSON list of the digests that the key may sign; null: any. */
  bound_digests: string | null;
  /**
   * Failed attempts since the last success with the secret that they are guesses at, or the end of
   * the last lock.
   */
  failures_in_row: number;
  /** Failed attempts since that success. */
  failures_since_success: number;
  /** When the lock ends. */
  locked_until: number | null;
  subscriber_email: string | null;
  subscriber_phone: string | null;
  created_at: number;
}

/**
 * Attempts on a key that are with the token, over all instances of a shared store. Those of an
 * instance that died end by themselves.
 */
export interface Attempts {
  reserved: Generated<number>;
  /** When the last of them is given up. */
  reserved_until: Generated<number | null>;
}

/** An open one-time password (contract §6). */
export interface OtpRow extends Sealed {
  reference: string;
  /** SIGN, CHANGE_PASSWORD or REVOKE. */
  action: string;
  /** Of this one, which a newer one does not have. */
  otp_id: string;
  salt: Uint8Array;
  mac: Uint8Array;
  /** JSON list, as `KeyRow.bound_digests`. */
  bound_digests: string | null;
  /** An attempt counts from its reservation on. */
  attempts_left: number;
  /** An attempt has it until then; null: none. */
  reserved_until: number | null;
  expires_at: number;
}

/**
 * A tenant that may have so many keys: two creations at once change one row, so that each counts
 * the other.
 */
export interface LimitedTenantRow {
  tenant: string;
  creations: number;
}
