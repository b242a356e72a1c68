import { sql, type Transaction } from 'kysely';
import type { Schema } from '../schema.ts';
import type { SecretPaceRow } from '../tables/keys.ts';

/** Wrong secrets of one client or tenant. */
export interface CountedSecrets {
  readonly subject: string;
  readonly more: number;
  /** After how long one of the missing tokens is there again. */
  readonly intervalMs: number;
}

/** Rows of buckets that lost no token for as long are removed: they are full. */
const keptMs = 30 * 86_400_000;

/** Returns the rows of these clients and tenants. */
export async function findSecretPaces(db: Transaction<Schema>, subjects: readonly string[]): Promise<SecretPaceRow[]> {
  return db.selectFrom('secret_paces').selectAll().where('subject', 'in', subjects).execute();
}

/**
 * Counts wrong secrets. The rows are changed in the order of their names, so that two instances do
 * not wait for each other's. `now`: milliseconds since epoch.
 */
export async function countWrongSecrets(
  db: Transaction<Schema>,
  { counted, now }: { counted: readonly CountedSecrets[]; now: number },
): Promise<void> {
  for (const { subject, more, intervalMs } of counted.toSorted((one, other) => (one.subject < other.subject ? -1 : 1))) {
    const left = sql<number>`secret_paces.missing - (case when secret_paces.as_of < ${now} then ${now} - secret_paces.as_of else 0 end) / cast(${intervalMs} as double precision)`;
    await db
      .insertInto('secret_paces')
      .values({ subject, missing: more, as_of: now })
      .onConflict((conflict) =>
        conflict
          .column('subject')
          .doUpdateSet({ missing: sql<number>`(case when ${left} > 0 then ${left} else 0 end) + ${more}`, as_of: now }),
      )
      .execute();
  }
  await db
    .deleteFrom('secret_paces')
    .where('as_of', '<=', now - keptMs)
    .execute();
}
