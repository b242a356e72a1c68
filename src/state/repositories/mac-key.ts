import type { Transaction } from 'kysely';
import type { Schema } from '../schema.ts';
import { endedStates } from './keys.ts';

/** The row of the first MAC key. */
const id = 1;

/**
 * A claim to make the MAC key. Times are milliseconds since epoch. `freeBefore`: claims that end
 * earlier have expired.
 */
export interface MacKeyClaim {
  readonly claim: string;
  readonly until: number;
  readonly freeBefore: number;
}

/**
 * Claims the right to look at the token and to make its MAC key: one instance at a time, and none
 * once the key is known. Returns whether the claim succeeded.
 */
export async function claimMacKey(db: Transaction<Schema>, { claim, until, freeBefore }: MacKeyClaim): Promise<boolean> {
  const row = await db
    .insertInto('mac_key')
    .values({ id, claim, claimed_until: until })
    .onConflict((conflict) =>
      conflict
        .column('id')
        .doUpdateSet({ claim, claimed_until: until })
        .where('mac_key.check_value', 'is', null)
        .where('mac_key.claimed_until', '<', freeBefore),
    )
    .returning('id')
    .executeTakeFirst();
  return row !== undefined;
}

/** Stores the check value and ends the claim. Returns false if the claim was lost. */
export async function keepMacKeyCheck(db: Transaction<Schema>, { claim, check }: { claim: string; check: Uint8Array }): Promise<boolean> {
  const row = await db
    .updateTable('mac_key')
    .set({ check_value: check, claim: null, claimed_until: 0 })
    .where('id', '=', id)
    .where('claim', '=', claim)
    .where('check_value', 'is', null)
    .returning('id')
    .executeTakeFirst();
  return row !== undefined;
}

export async function releaseMacKey(db: Transaction<Schema>, claim: string): Promise<void> {
  await db.updateTable('mac_key').set({ claim: null, claimed_until: 0 }).where('id', '=', id).where('claim', '=', claim).execute();
}

/** Counts the keys on the token whose records or secrets can only be verified with the MAC key. */
export async function countSecrets(db: Transaction<Schema>): Promise<number> {
  const rows = await db
    .selectFrom('keys')
    .select(({ fn }) => fn.countAll<number | string>().as('keys'))
    .where('state', 'not in', endedStates)
    .execute();
  const identities = await db
    .selectFrom('identity_keys')
    .select(({ fn }) => fn.countAll<number | string>().as('keys'))
    .where('state', '=', 'ACTIVE')
    .execute();
  return Number(rows[0]?.keys ?? 0) + Number(identities[0]?.keys ?? 0);
}
