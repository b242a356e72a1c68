import type { Generated } from 'kysely';

/**
 * A request with an Idempotency-Key (contract §10): claimed while it runs, with its answer
 * afterwards. Key, body and answer are unreadable without the token.
 */
export interface KeptAnswerRow {
  /** MAC of client, operation and key under a key of the token, hexadecimal. */
  id: string;
  /** MAC of the request's body. */
  fingerprint: Uint8Array;
  /** The claim while the request runs; null once it has an answer. */
  claim: string | null;
  /** Encrypted; null also if it is in parts. */
  answer: Uint8Array | null;
  /** Claim under which its parts were stored. */
  parts: string | null;
  /** When the claim or the kept answer expires. */
  ends_at: number;
  /** SHA-256 of the client's SubjectPublicKeyInfo, hexadecimal. */
  client: string;
  /** Bytes that the answer adds to `kept_bytes`; 0 while there is none. */
  bytes: number;
  /** `otp_id` of the one-time password in the answer, which is worthless without it. */
  while_otp: Generated<string | null>;
  /** CKA_ID of the key on the token; null: an earlier version made the row. */
  sealed_by: Generated<string | null>;
}

/**
 * A part of a large kept answer. It counts if its row in `kept_answers` names the claim under which
 * it was stored.
 */
export interface KeptAnswerPartRow {
  id: string;
  claim: string;
  /** From 0. */
  part: number;
  bytes: Uint8Array;
}

/**
 * Bytes of kept answers. Each instance has its own counter, so that none waits for another; the sum
 * over the counters is the total.
 */
export interface KeptBytesRow {
  /** As in `kept_answers`; empty for all clients. */
  client: string;
  /** Of one instance. */
  counter: string;
  /** Negative if another instance counted answers that this one deleted. */
  bytes: number;
}
