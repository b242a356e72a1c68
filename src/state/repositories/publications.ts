import type { Transaction } from 'kysely';
import type { Schema } from '../schema.ts';
import type { PublicationRow } from '../tables/publications.ts';

type Due = Pick<PublicationRow, 'id' | 'owner' | 'request' | 'items' | 'ends_at'>;

/** Adds evidence to be published: one step of the commit that settles its request. */
export async function addPublication(db: Transaction<Schema>, due: Due): Promise<void> {
  await db
    .insertInto('publications')
    .values({ ...due, state: 'DUE', renamed: null })
    .execute();
}

/** Returns the due publications of one owner, or of all. */
export async function duePublications(db: Transaction<Schema>, owner: string | undefined): Promise<Due[]> {
  const due = db.selectFrom('publications').select(['id', 'owner', 'request', 'items', 'ends_at']).where('state', '=', 'DUE');
  return (owner === undefined ? due : due.where('owner', '=', owner)).execute();
}

/**
 * Returns a publication. Undefined if there is none, or if it was published under the planned names
 * or withdrawn.
 */
export async function findPublication(db: Transaction<Schema>, id: string): Promise<Pick<PublicationRow, 'state' | 'renamed'> | undefined> {
  return db.selectFrom('publications').select(['state', 'renamed']).where('id', '=', id).executeTakeFirst();
}

/**
 * Records that evidence was published under other names than planned; these are kept until
 * `endsAt`.
 */
export async function keepPublishedNames(
  db: Transaction<Schema>,
  { id, renamed, endsAt }: { readonly id: string; readonly renamed: string; readonly endsAt: number },
): Promise<void> {
  await db.updateTable('publications').set({ state: 'PUBLISHED', renamed, ends_at: endsAt }).where('id', '=', id).execute();
}

/** Deletes a publication that was published under the planned names, or withdrawn. */
export async function endPublication(db: Transaction<Schema>, id: string): Promise<void> {
  await db.deleteFrom('publications').where('id', '=', id).execute();
}

export async function deleteEndedPublications(db: Transaction<Schema>, now: number): Promise<void> {
  await db.deleteFrom('publications').where('state', '=', 'PUBLISHED').where('ends_at', '<=', now).execute();
}
