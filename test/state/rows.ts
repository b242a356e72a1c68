import { createHash, randomBytes } from 'node:crypto';
import type { CertificateRow } from '../../src/state/tables/certificates.ts';
import type { StateStore } from '../../src/state/state-store.ts';
import type { IdentityKeyRow } from '../../src/state/tables/identity-keys.ts';
import type { KeyRow } from '../../src/state/tables/keys.ts';
import { newKeyId } from '../../src/token/key-id.ts';

/** Rows of a key that no token knows: what the store does with them is looked at. */
export function keyRows(changes: Partial<KeyRow> = {}): { key: KeyRow; certificate: CertificateRow } {
  const der = new Uint8Array(randomBytes(300));
  const sha1 = createHash('sha1').update(der).digest('hex');
  const now = Date.now();
  return {
    key: {
      reference: sha1,
      tenant: 'demo',
      key_id: newKeyId('caller'),
      key_type: 'P-256',
      protocol: 'PASSWORD',
      state: 'ACTIVE',
      secret_salt: new Uint8Array([0, 1, 255]),
      secret_mac: new Uint8Array(32),
      secret_stretched: 0,
      transaction_salt: null,
      transaction_mac: null,
      bound_digests: null,
      failures_in_row: 0,
      failures_since_success: 0,
      locked_until: null,
      subscriber_email: null,
      subscriber_phone: '+33123456789',
      created_at: now,
      seal_salt: null,
      seal_mac: null,
      ...changes,
    },
    certificate: { sha1, tenant: 'demo', authority: 'issuing', serial_number: sha1, der, not_before: now, not_after: now + 3_600_000 },
  };
}

/** A key as createCertificate leaves it. Answers its reference. */
export async function storedKey(store: StateStore, changes: Partial<KeyRow> = {}): Promise<string> {
  const rows = keyRows(changes);
  await store.run('announce', { key_id: rows.key.key_id, intent: 'CREATE', created_at: Date.now() });
  await store.run('insertKey', rows);
  return rows.key.reference;
}

/** Row of the key of a digital identity that no token knows. */
export function identityRow(changes: Partial<IdentityKeyRow> = {}): IdentityKeyRow {
  return {
    ...{ reference: randomBytes(20).toString('hex'), tenant: 'demo', ca: 'FR03', certificate_id: randomBytes(2).toString('hex') },
    ...{ key_id: newKeyId('caller'), key_type: 'P-256', public_key: new Uint8Array(10), state: 'ACTIVE', created_at: Date.now() },
    ...{ secret_salt: new Uint8Array(16), secret_mac: new Uint8Array(32), secret_stretched: 0, seal_salt: null, seal_mac: null },
    ...{ failures_in_row: 0, failures_since_success: 0, locked_until: null, ...changes },
  };
}
