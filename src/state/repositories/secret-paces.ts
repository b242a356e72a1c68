import { sql, type Transaction } from 'kysely';
import type { Schema } from '../schema.ts';
import type { SecretPaceRow } from '../tables/secret-paces.ts';

/** Wrong secrets of one client or tenant. */
export interface CountedSecrets {
  readonly subject: string;
  /** By how much later its bucket is full again; milliseconds. */
  readonly moreMs: number;
  /** The latest time at which the bucket is full again; milliseconds since epoch. */
  readonly latest: number;
}

/** Returns the rows of these clients and tenants. */
export async function findSecretPaces(db: Transaction<Schema>, subjects: readonly string[]): Promise<SecretPaceRow[]> {
  return db.selectFrom('secret_paces').selectAll().where('subject', 'in', subjects).execute();
}

/**
 * Counts wrong secrets, and returns the rows as they are afterwards. The rows are changed in the
 * order of their names, so that two instances do not wait for each other's. Rows of full buckets are
 * removed.
 */
export async function countWrongSecrets(
  db: Transaction<Schema>,
  { counted, now }: { counted: readonly CountedSecrets[]; now: number },
): Promise<SecretPaceRow[]> {
  const rows: SecretPaceRow[] = [];
  for (const { subject, moreMs, latest } of counted.toSorted((one, other) => (one.subject < other.subject ? -1 : 1))) {
    const later = sql<number>`(case when secret_paces.full_at > ${now} then secret_paces.full_at else ${now} end) + ${moreMs}`;
    const row = await db
      .insertInto('secret_paces')
      .values({ subject, full_at: Math.min(now + moreMs, latest) })
      .onConflict((conflict) =>
        conflict.column('subject').doUpdateSet({
          full_at: sql<number>`(case when ${later} > cast(${latest} as bigint) then cast(${latest} as bigint) else ${later} end)`,
        }),
      )
      .returningAll()
      .executeTakeFirstOrThrow();
    rows.push(row);
  }
  await db.deleteFrom('secret_paces').where('full_at', '<=', now).execute();
  return rows;
}
