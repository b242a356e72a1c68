import { tenantId } from '../../src/clients/caller.ts';
import { recordOf, type KeyRecord } from '../../src/keys/key-record.ts';
import { keyRows } from '../state/rows.ts';
import { certificateRow } from './certificate-row.ts';

/** A row as the store answers it: a key in use, with a certificate that can be read. */
export function storedRow(): Parameters<typeof recordOf>[0] {
  const certificate = certificateRow();
  return { ...keyRows().certificate, ...keyRows().key, issuing_chain: null, ...certificate, certificate_tenant: certificate.tenant };
}

/** A key in use that no token has: what is decided by its record alone is looked at. */
export function activeKey(changes: Partial<KeyRecord> = {}): KeyRecord {
  return { ...recordOf(storedRow(), tenantId('demo'), undefined), ...changes };
}
