import type { AccountHead } from '../token/account-files.ts';

export interface CheckpointEntry {
  readonly kind: 'checkpoint';
  readonly checkpoint: Checkpoint;
  /**
   * Number of the last record that the state store is known to hold as its place in the log; 0:
   * none.
   */
  readonly kept: number;
  /** ECDSA-Sig-Value (RFC 3279 §2.2.3), base64. */
  readonly signature: string;
  /**
   * Ends of the chains of the token host's account of uses, at this point or later. The next
   * checkpoint covers them.
   */
  readonly account?: readonly AccountHead[] | undefined;
}

/** Content of a checkpoint's signature: the log up to and including one record. */
export interface Checkpoint {
  /** Name of the log. */
  readonly log: string;
  /** Number of the last record that it covers: the count of all records so far. */
  readonly records: number;
  /** Hash of that record's line. */
  readonly hash: string;
  readonly time: string;
}

/** What a key of checkpoints says of the key that follows it. */
export interface Succession {
  /** SubjectPublicKeyInfo of the former key, DER, base64. */
  readonly former: string;
  readonly time: string;
  /** ECDSA-Sig-Value (RFC 3279 §2.2.3) of the former key over `successionText`, base64. */
  readonly signature: string;
}
