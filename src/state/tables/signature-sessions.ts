/**
 * A signature between its two steps (contract §5). It is unreadable without the token and the
 * caller's signatureThreadId.
 */
export interface SignatureSessionRow {
  /** MAC of tenant and signatureThreadId under a key of the token, hexadecimal. */
  id: string;
  tenant: string;
  /** SHA-256 of the SubjectPublicKeyInfo of the client that opened it, hexadecimal. */
  client: string;
  /** 1 if all parts are stored. */
  stored: number;
  /** Bytes of content in its parts. */
  spooled_bytes: number;
  ends_at: number;
  /** CKA_ID of the key on the token; null: an earlier version made the row. */
  sealed_by: string | null;
}

/** An encrypted part of a session. It is deleted after its session. */
export interface SignatureSessionPartRow {
  id: string;
  /** 0: the prepared state; from 1: the content of documents. */
  item: number;
  /** From 0. */
  part: number;
  bytes: Uint8Array;
}
