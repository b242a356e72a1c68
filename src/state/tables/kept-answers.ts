import type { Generated } from 'kysely';

/**
 * A request with an Idempotency-Key (contract §10): claimed while it runs, with its answer
 * afterwards. Nothing of key, body and answer is readable without the token.
 */
export interface KeptAnswerRow {
  /** Stands for client, operation and key: a MAC under a key of the token, hexadecimal. */
  id: string;
  /** Stands for the request's body, likewise. */
  fingerprint: Uint8Array;
  /** Whose the request is while it runs; null once it has an answer. */
  claim: string | null;
  /** Encrypted; null also where it is in parts. */
  answer: Uint8Array | null;
  /** The claim that its parts were stored under. */
  parts: string | null;
  /** The end of the claim, or of the time for which the answer is kept. */
  ends_at: number;
  /** SHA-256 of the client's SubjectPublicKeyInfo, hexadecimal. */
  client: string;
  /** What the answer counts for in `kept_bytes`; 0 while there is none. */
  bytes: number;
  /**
   * The one-time password that the answer tells, and without which it is worth nothing: `otp_id`.
   */
  while_otp: Generated<string | null>;
}

/**
 * A piece of a large kept answer. It counts when its row in `kept_answers` names the claim that it
 * was stored under.
 */
export interface KeptAnswerPartRow {
  id: string;
  claim: string;
  /** From 0. */
  part: number;
  bytes: Uint8Array;
}

/**
 * How many bytes of answers are kept. Instances count apart, so that none waits for another; the
 * sum over their counters is what holds.
 */
export interface KeptBytesRow {
  /** As in `kept_answers`; empty: of all clients. */
  client: string;
  /** Of one instance. */
  counter: string;
  /** Below 0 where another instance counted what this one deleted. */
  bytes: number;
}
