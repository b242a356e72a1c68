import type { Schema } from '../schema.ts';

/**
 * All tables, those to which others refer first. The lists of changes and of migrations belong to
 * one database.
 */
const copied = {
  clients: true,
  revoked_clients: true,
  client_certificates: true,
  issuing_chains: true,
  certificates: true,
  keys: true,
  identity_keys: true,
  otps: true,
  key_pool: true,
  key_journal: true,
  service_keys: true,
  mac_key: true,
  audit_keys: true,
  audit_heads: true,
  audit_outbox: true,
  revocations: true,
  crl_states: true,
  crls: true,
  ocsp_responders: true,
  kept_answers: true,
  kept_answer_parts: true,
  kept_bytes: true,
  secret_paces: true,
  limited_tenants: true,
  identity_tokens: true,
  transfer_files: true,
  transfer_shares: true,
  publications: true,
  signature_sessions: true,
  signature_session_parts: true,
} as const satisfies Record<keyof Schema, true>;

export type CopiedTable = keyof typeof copied;

// Object.keys forgets the names' type.
export const copiedTables = Object.keys(copied) as readonly CopiedTable[];
