import type { Transaction } from 'kysely';
import type { Schema } from '../schema.ts';

/** States of keys whose private keys are on the token. */
const callersStates = ['ACTIVE', 'ON_HOLD', 'REVOKED'];

/** What stays on a token that the service no longer uses, or ends with it. */
export interface LeftBehind {
  /** Keys of callers. */
  readonly keys: number;
  /** Digital identities of 2D-Doc. */
  readonly identities: number;
  /** Open one-time passwords and activation data. */
  readonly oneTime: number;
  /** Keys made ahead. */
  readonly pooled: number;
}

export async function countLeft(db: Transaction<Schema>): Promise<LeftBehind> {
  const keys = db.selectFrom('keys').where('state', 'in', callersStates);
  const identities = db.selectFrom('identity_keys').where('state', '=', 'ACTIVE');
  const [callers, ofIdentities, otps, pooled] = [
    await keys.select(({ fn }) => fn.countAll<number | string>().as('rows')).executeTakeFirstOrThrow(),
    await identities.select(({ fn }) => fn.countAll<number | string>().as('rows')).executeTakeFirstOrThrow(),
    await db
      .selectFrom('otps')
      .select(({ fn }) => fn.countAll<number | string>().as('rows'))
      .executeTakeFirstOrThrow(),
    await db
      .selectFrom('key_pool')
      .select(({ fn }) => fn.countAll<number | string>().as('rows'))
      .executeTakeFirstOrThrow(),
  ].map(({ rows }) => Number(rows));
  return { keys: callers ?? 0, identities: ofIdentities ?? 0, oneTime: otps ?? 0, pooled: pooled ?? 0 };
}

/**
 * Returns how many of these keys of a token the state store names as keys of callers, of digital
 * identities, made ahead, or of the service itself.
 * @param ids CKA_IDs, at most 500
 */
export async function namesOnToken(db: Transaction<Schema>, ids: readonly string[]): Promise<number> {
  if (ids.length === 0) return 0;
  const found = new Set<string>();
  const callers = db.selectFrom('keys').select('key_id').where('state', 'in', callersStates).where('key_id', 'in', ids);
  for (const row of await callers.execute()) found.add(row.key_id);
  for (const table of ['identity_keys', 'key_pool', 'service_keys', 'audit_keys', 'ocsp_responders'] as const)
    for (const row of await db.selectFrom(table).select('key_id').where('key_id', 'in', ids).execute()) found.add(row.key_id);
  return found.size;
}

/**
 * Goes on with another token: what only the former one can do ends, and new secrets are made with
 * this MAC key from this commit on. The keys of callers and of digital identities are marked as left
 * behind; what they were about to do, and the keys made ahead, are forgotten.
 * @param generation number of the MAC key on the new token, higher than any before
 * @param check its check value
 * @param now milliseconds since epoch
 */
export async function leaveToken(
  db: Transaction<Schema>,
  { generation, check, now }: { readonly generation: number; readonly check: Uint8Array; readonly now: number },
): Promise<void> {
  await db.updateTable('mac_key').set({ destroyed_at: now }).where('destroyed_at', 'is', null).execute();
  await db
    .insertInto('mac_key')
    .values({ id: generation + 1, check_value: check })
    .execute();
  await db.updateTable('keys').set({ state: 'LEFT_BEHIND' }).where('state', 'in', callersStates).execute();
  await db.updateTable('identity_keys').set({ state: 'LEFT_BEHIND' }).where('state', '=', 'ACTIVE').execute();
  await db.deleteFrom('otps').execute();
  await db.deleteFrom('key_pool').execute();
}
