/** A key that signs checkpoints of the audit log. Older ones stay: they verify older files. */
export interface AuditKeyRow {
  /** CKA_ID, hexadecimal. */
  key_id: string;
  /** SubjectPublicKeyInfo, DER. */
  public_key: Uint8Array;
  created_at: number;
}

/**
 * The store's place in an audit log, its last checkpoint or a record after that: what a log that
 * was cut or rolled back is compared with, and by which a store that is older than its log is
 * known.
 */
export interface AuditHeadRow {
  /** Name of the log. */
  log: string;
  /** Number of the record. */
  records: number;
  /** Hash of its line, hexadecimal. */
  hash: string;
  /** Number of the file that holds it. */
  file: number;
}

/**
 * An audit record that is stored with what it tells of, until it is in the chain: a crash between
 * the two loses none.
 */
export interface AuditOutboxRow {
  /** Unique over all instances; its maker chooses it. */
  id: string;
  created_at: number;
  /** JSON. */
  record: string;
}
