import type { Generated } from 'kysely';

/** The tables of the state store. Times are milliseconds since epoch; identifiers are text as their types write them. */
export interface Schema {
  clients: ClientRow;
  keys: KeyRow & Attempts;
  certificates: CertificateRow & Issuing;
  otps: OtpRow;
  key_pool: KeyPoolRow;
  key_journal: KeyJournalRow;
  audit_keys: AuditKeyRow;
  audit_heads: AuditHeadRow;
  audit_outbox: AuditOutboxRow;
  revocations: RevocationRow;
  crl_states: CrlStateRow;
  crls: CrlRow;
  ocsp_responders: OcspResponderRow;
  kept_answers: KeptAnswerRow;
  kept_answer_parts: KeptAnswerPartRow;
  service_keys: ServiceKeyRow;
  transfer_files: TransferFileRow;
  transfer_shares: TransferShareRow;
  mac_key: MacKeyRow;
  limited_tenants: LimitedTenantRow;
  identity_tokens: IdentityTokenRow;
  issuing_chains: IssuingChainRow;
  signature_sessions: SignatureSessionRow;
  signature_session_parts: SignatureSessionPartRow;
}

/** A registered client certificate, by its public key (contract §8). */
export interface ClientRow {
  /** SHA-256 of SubjectPublicKeyInfo, hexadecimal. */
  spki_sha256: string;
  name: string;
  tenant: string;
  /** JSON list of roles. */
  roles: string;
  created_at: number;
}

/** A caller's key (contract §6). */
export interface KeyRow {
  /** SHA-1 of its certificate, lower-case hexadecimal. */
  reference: string;
  tenant: string;
  /** CKA_ID on the token, hexadecimal. */
  key_id: string;
  key_type: string;
  protocol: string;
  /** Those of `src/keys/states.ts` that are stored; locked and expired follow from counters and times. */
  state: string;
  /** Empty, like the MAC, where the key has no secret of its own. */
  secret_salt: Uint8Array;
  secret_mac: Uint8Array;
  /** 1: the MAC is over the secret as scrypt stretches it, since a person chose it. */
  secret_stretched: number;
  /** The MAC of the transaction that the key is tied to. */
  transaction_salt: Uint8Array | null;
  transaction_mac: Uint8Array | null;
  /** JSON list of the digests that the key may sign; null: any. */
  bound_digests: string | null;
  /** Failed attempts since the last success or the end of the last lock. */
  failures_in_row: number;
  /** Failed attempts since the last success. */
  failures_since_success: number;
  /** When the lock ends. */
  locked_until: number | null;
  subscriber_email: string | null;
  subscriber_phone: string | null;
  created_at: number;
}

/** An open one-time password (contract §6). */
export interface OtpRow {
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

/** A key on the token that nobody owns yet. */
export interface KeyPoolRow {
  /** CKA_ID on the token, hexadecimal. */
  key_id: string;
  key_type: string;
  /** SubjectPublicKeyInfo, DER. */
  public_key: Uint8Array;
  created_at: number;
}

/** Attempts on a key that are with the token, over all instances of a shared store. Those of an instance that died end by themselves. */
interface Attempts {
  reserved: Generated<number>;
  /** When the last of them is given up. */
  reserved_until: Generated<number | null>;
}

/** A certificate that this service issued. */
export interface CertificateRow {
  sha1: string;
  tenant: string;
  /** The configured name of its certificate authority. */
  authority: string;
  /** Hexadecimal. */
  serial_number: string;
  der: Uint8Array;
  not_before: number;
  not_after: number;
}

interface Issuing {
  /** Of `issuing_chains`; null for a certificate that an earlier version issued. */
  issuing_chain: Generated<string | null>;
}

/** The certificate that a certificate was issued under, and those above it. Few: as many as authorities had in their time. */
export interface IssuingChainRow {
  /** SHA-256 of `der`, hexadecimal. */
  id: string;
  /** SEQUENCE OF Certificate (RFC 5280), DER: the issuer first. */
  der: Uint8Array;
}

/** A step on the token that has begun: after a crash the start finishes or undoes it. */
export interface KeyJournalRow {
  key_id: string;
  intent: 'CREATE' | 'DESTROY';
  created_at: number;
}

/** A key that signs checkpoints of the audit log. Older ones stay: they verify older files. */
export interface AuditKeyRow {
  /** CKA_ID, hexadecimal. */
  key_id: string;
  /** SubjectPublicKeyInfo, DER. */
  public_key: Uint8Array;
  created_at: number;
}

/** The last checkpoint of an audit log: what a log that was cut or rolled back is compared with. */
export interface AuditHeadRow {
  /** Name of the log. */
  log: string;
  /** Number of the checkpoint's own record. */
  records: number;
  /** Hash of its line, hexadecimal. */
  hash: string;
  /** Number of the file that holds it. */
  file: number;
}

/** An audit record that is stored with what it tells of, until it is in the chain: a crash between the two loses none. */
export interface AuditOutboxRow {
  /** Unique over all instances; its maker chooses it. */
  id: string;
  created_at: number;
  /** JSON. */
  record: string;
}

/** A certificate that is revoked or on hold. One that is released from hold has none. */
export interface RevocationRow {
  /** The configured name of its certificate authority. */
  authority: string;
  /** Hexadecimal, as in `certificates`. */
  serial_number: string;
  /** CRLReason (RFC 5280 5.3.1). */
  reason: number;
  revoked_at: number;
  /** The certificate's end. */
  not_after: number;
}

/** The CRLs of an authority: what has changed, which numbers are used up, which CRL is served. */
export interface CrlStateRow {
  authority: string;
  /** Counts revocations and releases. */
  revision: number;
  /** The last number that was taken. Some come to nothing; none is taken twice. */
  number: Generated<number>;
  claimed_until: Generated<number>;
  published_number: Generated<number>;
  /** The revision that the published CRL covers. */
  published_revision: Generated<number>;
  /** SHA-256 of the SubjectPublicKeyInfo that verifies the published CRL, hexadecimal. */
  signer: Generated<string>;
  /** notBefore of its certificate: the later one goes before. */
  signer_since: Generated<number>;
  this_update: Generated<number>;
  next_update: Generated<number>;
}

/** The published CRL itself. */
export interface CrlRow {
  authority: string;
  number: number;
  der: Uint8Array;
}

/** A delegated OCSP responder: a key on the token, and the certificate that the authority gave it. */
export interface OcspResponderRow {
  authority: string;
  /** SHA-256 of the SubjectPublicKeyInfo of the authority that signed its certificate, hexadecimal. */
  signer: string;
  /** From 1; each is the next one of the one before. */
  generation: number;
  /** CKA_ID, hexadecimal. */
  key_id: string;
  /** The certificate. */
  der: Uint8Array;
  not_before: number;
  not_after: number;
}

/** A request with an Idempotency-Key (contract §10): claimed while it runs, with its answer afterwards. Nothing in it is readable without the token. */
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
  /** The one-time password that the answer tells, and without which it is worth nothing: `otp_id`. */
  while_otp: Generated<string | null>;
}

/** A piece of a large kept answer. It counts when its row in `kept_answers` names the claim that it was stored under. */
export interface KeptAnswerPartRow {
  id: string;
  claim: string;
  /** From 0. */
  part: number;
  bytes: Uint8Array;
}

/** A tenant that may have so many keys: two creations at once change one row, so that each counts the other. */
export interface LimitedTenantRow {
  tenant: string;
  creations: number;
}

/** A key on the token that the service has for a purpose of its own. */
export interface ServiceKeyRow {
  purpose: string;
  /** CKA_ID, hexadecimal. */
  key_id: string;
  created_at: number;
}

/** A file of the transfer store (contract §4). Its content lies in the store's directory, under its identifier. */
export interface TransferFileRow {
  /** 256 random bits, base64url. */
  id: string;
  tenant: string;
  /** ARRIVING: nobody can fetch it yet. STORED. ENDED: nobody can any more, and it is to be removed from the disk. */
  state: string;
  /** Name of the instance that it arrives at. */
  owner: string;
  /** While it arrives: what is reserved for it. */
  bytes: number;
  media_type: string;
  file_name: string | null;
  /** Hexadecimal; null while it arrives. */
  sha256: string | null;
  /** While it arrives: when it is given up, unless its owner puts that off. */
  ends_at: number;
}

/** What a tenant has in the transfer store, what arrives included: the sum over its files. */
export interface TransferShareRow {
  tenant: string;
  bytes: number;
  files: number;
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

/** A token of an identity provider that made a certificate and makes no other. */
export interface IdentityTokenRow {
  /** Stands for its issuer and its identifier: a SHA-256, hexadecimal. */
  id: string;
  /** When nobody accepts it any more. */
  ends_at: number;
}

/** A signature between its two steps (contract §5). Nothing in it is readable without the token and the caller's signatureThreadId. */
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
