import type { Transaction } from 'kysely';
import type { Schema } from '../schema.ts';

/** There is one key for secrets, and one row. */
const id = 1;

/** What the token's key for secrets is known by; undefined if none was used with this store yet. */
export async function findMacKeyCheck(db: Transaction<Schema>): Promise<Uint8Array | undefined> {
  const row = await db.selectFrom('mac_key').select('check_value').where('id', '=', id).executeTakeFirst();
  return row?.check_value ?? undefined;
}

/** Times are milliseconds since epoch. `freeBefore`: claims that end before are over. */
export interface MacKeyClaim {
  readonly claim: string;
  readonly until: number;
  readonly freeBefore: number;
}

/**
 * The right to look at the token and to make its key for secrets: one instance at a time, and none
 * once the key is known. Returns whether it was had.
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

/** Keeps what the key is known by, and ends the claim. Returns false where the claim was lost. */
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

/** How many keys on the token have records or secrets that only the key for secrets can check. */
export async function countSecrets(db: Transaction<Schema>): Promise<number> {
  const rows = await db
    .selectFrom('keys')
    .select(({ fn }) => fn.countAll<number | string>().as('keys'))
    .where('state', 'not in', ['CONSUMED', 'REMOVED'])
    .execute();
  return Number(rows[0]?.keys ?? 0);
}
