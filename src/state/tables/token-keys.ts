import type { Generated } from 'kysely';
import type { Sealed } from './keys.ts';

/** A key on the token without an owner. */
export interface KeyPoolRow extends Sealed {
  /** CKA_ID on the token, hexadecimal. */
  key_id: string;
  key_type: string;
  /** SubjectPublicKeyInfo, DER. */
  public_key: Uint8Array;
  created_at: number;
}

/** A step on the token that has begun: after a crash, the next start finishes or undoes it. */
export interface KeyJournalRow {
  key_id: string;
  intent: 'CREATE' | 'DESTROY';
  created_at: number;
}

/** A key on the token for a purpose of the service itself. */
export interface ServiceKeyRow {
  purpose: string;
  /** CKA_ID, hexadecimal. */
  key_id: string;
  created_at: number;
}

/** Check value of a MAC key of the token. */
export interface MacKeyRow {
  /** Its number (`token/mac-generation.ts`) plus one. */
  id: number;
  /** The key's MAC of a constant; null until there is a key. */
  check_value: Generated<Uint8Array | null>;
  /** Claim of the instance that looks at the token or makes the key. */
  claim: string | null;
  claimed_until: Generated<number>;
  /** When its destruction began, milliseconds since epoch; null if it is on the token. */
  destroyed_at: Generated<number | null>;
}
