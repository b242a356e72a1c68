import { z } from 'zod';
import type { StateSnapshot } from './state-snapshot.ts';

/** A key on the token to which the state store refers. */
export const StoredKey = z.strictObject({
  /** CKA_ID, hexadecimal. */
  id: z.string(),
  /** `journal`: a key that is being made or destroyed: it may be on the token or not. */
  use: z.enum(['caller', 'identity', 'pool', 'service', 'ocsp', 'journal', 'gone']),
  /**
   * `keyReference.reference`, the purpose of a service key, or the authority of an OCSP responder.
   */
  name: z.string().nullable(),
  tenant: z.string().nullable(),
});
export type StoredKey = z.output<typeof StoredKey>;

/**
 * All of them. `gone`: keys that were used up or removed, which the token has only if it did not
 * destroy them yet, or that stayed on another token.
 */
const select = [
  "select key_id as id, case when state in ('CONSUMED', 'REMOVED', 'LEFT_BEHIND') then 'gone' else 'caller' end as use, reference as name, tenant from keys",
  "select key_id, case when state = 'ACTIVE' then 'identity' else 'gone' end, reference, tenant from identity_keys",
  "select key_id, 'pool', null, null from key_pool",
  "select key_id, 'service', purpose, null from service_keys",
  "select key_id, 'ocsp', authority, null from ocsp_responders",
  "select key_id, 'journal', null, null from key_journal",
].join(' union all ');

/** Yields the keys on the token to which a state store refers. */
export async function* storedKeys(snapshot: StateSnapshot): AsyncGenerator<StoredKey> {
  for await (const row of snapshot.rows(select)) yield StoredKey.parse(row);
}
