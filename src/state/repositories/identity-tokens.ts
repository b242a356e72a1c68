import type { Transaction } from 'kysely';
import { Fault } from '../../faults.ts';
import type { Schema } from '../schema.ts';
import type { IdentityTokenRow } from '../tables/certificates.ts';

/** Checks whether a token is already used, before any work is done; `useIdentityToken` decides. */
export async function isIdentityTokenUsed(db: Transaction<Schema>, id: string): Promise<boolean> {
  return (await db.selectFrom('identity_tokens').select('id').where('id', '=', id).executeTakeFirst()) !== undefined;
}

/** Marks a token as used. @throws {Fault} IDENTITY_TOKEN_USED; nothing of the commit is done */
export async function useIdentityToken(db: Transaction<Schema>, token: IdentityTokenRow): Promise<void> {
  const row = await db
    .insertInto('identity_tokens')
    .values(token)
    .onConflict((conflict) => conflict.column('id').doNothing())
    .returning('id')
    .executeTakeFirst();
  if (row === undefined) throw new Fault('IDENTITY_TOKEN_USED');
}

/** Deletes expired tokens, up to a limit. Returns the number deleted. */
export async function pruneIdentityTokens(db: Transaction<Schema>, { now, limit }: { now: number; limit: number }): Promise<number> {
  const ended = db.selectFrom('identity_tokens').select('id').where('ends_at', '<=', now).limit(limit);
  const rows = await db.deleteFrom('identity_tokens').where('id', 'in', ended).returning('id').execute();
  return rows.length;
}
