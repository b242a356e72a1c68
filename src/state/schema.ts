import type { AuditHeadRow, AuditKeyRow, AuditOutboxRow } from './tables/audit.ts';
import type { CertificateRow, IdentityTokenRow, Issuing, IssuingChainRow } from './tables/certificates.ts';
import type { ClientCertificateRow, ClientRow, RevokedClientRow } from './tables/clients.ts';
import type { IdentityKeyRow } from './tables/identity-keys.ts';
import type { KeptAnswerPartRow, KeptAnswerRow, KeptBytesRow } from './tables/kept-answers.ts';
import type { Attempts, KeyRow, LimitedTenantRow, OtpRow, Renewed, SecretPaceRow } from './tables/keys.ts';
import type { CrlRow, CrlStateRow, OcspResponderRow, RevocationRow } from './tables/revocation.ts';
import type { PublicationRow } from './tables/publications.ts';
import type { SignatureSessionPartRow, SignatureSessionRow } from './tables/signature-sessions.ts';
import type { KeyJournalRow, KeyPoolRow, MacKeyRow, ServiceKeyRow } from './tables/token-keys.ts';
import type { TransferFileRow, TransferShareRow } from './tables/transfer-files.ts';

/**
 * The tables of the state store. Times are milliseconds since epoch; identifiers are text as their
 * types write them.
 */
export interface Schema {
  clients: ClientRow;
  revoked_clients: RevokedClientRow;
  client_certificates: ClientCertificateRow;
  keys: KeyRow & Attempts & Renewed;
  identity_keys: IdentityKeyRow & Attempts & Renewed;
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
  kept_bytes: KeptBytesRow;
  secret_paces: SecretPaceRow;
  service_keys: ServiceKeyRow;
  transfer_files: TransferFileRow;
  transfer_shares: TransferShareRow;
  publications: PublicationRow;
  mac_key: MacKeyRow;
  limited_tenants: LimitedTenantRow;
  identity_tokens: IdentityTokenRow;
  issuing_chains: IssuingChainRow;
  signature_sessions: SignatureSessionRow;
  signature_session_parts: SignatureSessionPartRow;
}
