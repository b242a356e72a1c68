/** A key that signs checkpoints of the audit log. Old keys are kept to verify old files. */
export interface AuditKeyRow {
  /** CKA_ID, hexadecimal. */
  key_id: string;
  /** SubjectPublicKeyInfo, DER. */
  public_key: Uint8Array;
  created_at: number;
  /** JSON: what the former key says of this one (`audit/succession.ts`); null if no key did. */
  succession: string | null;
}

/**
 * The store's position in an audit log: its last checkpoint or a later record. It reveals a log
 * that was cut or rolled back, and a store that is older than its log.
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
 * An audit record, stored in the commit of the change that it describes until it is in the chain,
 * so that a crash loses none.
 */
export interface AuditOutboxRow {
  /** Unique over all instances; chosen by the writer. */
  id: string;
  created_at: number;
  /** JSON. */
  record: string;
}
