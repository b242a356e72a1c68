import type { Generated } from 'kysely';
import type { Sealed } from './keys.ts';

/** A key on the token that nobody owns yet. */
export interface KeyPoolRow extends Sealed {
  /** CKA_ID on the token, hexadecimal. */
  key_id: string;
  key_type: string;
  /** SubjectPublicKeyInfo, DER. */
  public_key: Uint8Array;
  created_at: number;
}

/** A step on the token that has begun: after a crash the start finishes or undoes it. */
export interface KeyJournalRow {
  key_id: string;
  intent: 'CREATE' | 'DESTROY';
  created_at: number;
}

/** A key on the token that the service has for a purpose of its own. */
export interface ServiceKeyRow {
  purpose: string;
  /** CKA_ID, hexadecimal. */
  key_id: string;
  created_at: number;
}

/** What the token's key for secrets is known by, in one row. */
export interface MacKeyRow {
  id: number;
  /** Its MAC of a constant; null until there is one. */
  check_value: Generated<Uint8Array | null>;
  /** Whoever looks at the token, or makes the key, until then. */
  claim: string | null;
  claimed_until: Generated<number>;
}
