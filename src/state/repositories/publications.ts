import type { Transaction } from 'kysely';
import type { Schema } from '../schema.ts';
import type { PublicationRow } from '../tables/publications.ts';

type Due = Pick<PublicationRow, 'id' | 'owner' | 'request' | 'items' | 'ends_at'>;

/** Evidence is to be published: one step of the commit that settles its request. */
export async function addPublication(db: Transaction<Schema>, due: Due): Promise<void> {
  await db
    .insertInto('publications')
    .values({ ...due, state: 'DUE', renamed: null })
    .execute();
}

/** The publications that are due, of one owner or of all. */
export async function duePublications(db: Transaction<Schema>, owner: string | undefined): Promise<Due[]> {
  const due = db.selectFrom('publications').select(['id', 'owner', 'request', 'items', 'ends_at']).where('state', '=', 'DUE');
  return (owner === undefined ? due : due.where('owner', '=', owner)).execute();
}

/**
 * Undefined if there is none, or none any longer: it was published under the names that were
 * planned, or withdrawn.
 */
export async function findPublication(db: Transaction<Schema>, id: string): Promise<Pick<PublicationRow, 'state' | 'renamed'> | undefined> {
  return db.selectFrom('publications').select(['state', 'renamed']).where('id', '=', id).executeTakeFirst();
}

/** It is published, under other names than were planned: these are kept until `endsAt`. */
export async function keepPublishedNames(
  db: Transaction<Schema>,
  { id, renamed, endsAt }: { readonly id: string; readonly renamed: string; readonly endsAt: number },
): Promise<void> {
  await db.updateTable('publications').set({ state: 'PUBLISHED', renamed, ends_at: endsAt }).where('id', '=', id).execute();
}

/** It is published under the names that were planned, or withdrawn. */
export async function endPublication(db: Transaction<Schema>, id: string): Promise<void> {
  await db.deleteFrom('publications').where('id', '=', id).execute();
}

export async function deleteEndedPublications(db: Transaction<Schema>, now: number): Promise<void> {
  await db.deleteFrom('publications').where('state', '=', 'PUBLISHED').where('ends_at', '<=', now).execute();
}
