import { distinguishedNameText } from '../x509/distinguished-name.ts';
import { tenantId } from '../clients/caller.ts';
import { recordOf, remainingAttempts, stateOf } from '../keys/key-record.ts';
import type { KeyWithCertificate } from '../state/repositories/keys.ts';
import type { StateStore } from '../state/state-store.ts';
import { keyPageSize, CommandRefused } from './protocol.ts';
import type { KeyView, PoolView } from './views.ts';

/** Returns a page of keys, ordered by reference. */
export async function keyPage(
  store: StateStore,
  {
    tenant,
    after,
    limit = keyPageSize,
  }: { readonly tenant?: string | undefined; readonly after?: string | undefined; readonly limit?: number },
): Promise<{ keys: KeyView[]; more: boolean }> {
  const rows = await store.run('listKeys', { tenant, after, limit: limit + 1 });
  return { keys: rows.slice(0, limit).map((row) => keyView(row, store.now())), more: rows.length > limit };
}

/** Returns the keys that wait in the pool. */
export async function poolView(store: StateStore): Promise<PoolView> {
  return { tokenIds: await store.run('poolKeys') };
}

/** @throws {CommandRefused} if there is no such key */
export async function findKeyView(store: StateStore, reference: string): Promise<KeyView> {
  const row = await store.run('findKey', reference);
  if (row === undefined) throw new CommandRefused(`reference: there is no key ${reference}`);
  return keyView(row, store.now());
}

/** @param now the store's time, which locks and expiry use: milliseconds since the epoch */
function keyView(row: KeyWithCertificate, now: number): KeyView {
  const record = recordOf(row, tenantId(row.tenant), undefined);
  return {
    reference: row.reference,
    tenant: row.tenant,
    type: row.key_type,
    protocol: row.protocol,
    state: stateOf(record, now),
    subject: distinguishedNameText(record.certificate.subject),
    tokenId: row.key_id,
    created: new Date(row.created_at).toISOString(),
    notAfter: record.certificate.notAfter.toISOString(),
    remainingAttempts: remainingAttempts(record, now),
    failuresSinceSuccess: record.failuresSinceSuccess,
    lockedUntil: record.lockedUntil === undefined || record.lockedUntil <= now ? null : new Date(record.lockedUntil).toISOString(),
  };
}
