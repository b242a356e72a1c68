/**
 * A signature between its two steps (contract §5). Nothing in it is readable without the token and
 * the caller's signatureThreadId.
 */
export interface SignatureSessionRow {
  /** Stands for tenant and signatureThreadId: a MAC under a key of the token, hexadecimal. */
  id: string;
  tenant: string;
  /** Who opened it: SHA-256 of SubjectPublicKeyInfo, hexadecimal. */
  client: string;
  /** 1: all its parts are there. */
  stored: number;
  /** Bytes of content that its parts hold. */
  spooled_bytes: number;
  ends_at: number;
}

/** A piece of what a session holds, encrypted. It goes when its session has gone. */
export interface SignatureSessionPartRow {
  id: string;
  /** 0: what was prepared; from 1: the content of documents. */
  item: number;
  /** From 0. */
  part: number;
  bytes: Uint8Array;
}
