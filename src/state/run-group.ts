import { sql, type Kysely, type Transaction } from 'kysely';
import type { Work } from './database.ts';
import { operations } from './repository-functions.ts';
import type { Schema } from './schema.ts';

/**
 * Carries out all the steps of a group in the transaction that the connection is in. Returns the
 * values of each member.
 */
export async function runSteps(connection: Kysely<Schema>, group: readonly Work[]): Promise<unknown[][]> {
  // The transaction was begun by hand: Kysely's own hides an error behind that of a rollback which
  // the database has done already.
  const transaction = connection as Transaction<Schema>;
  const all: unknown[][] = [];
  for (const { steps } of group) {
    const values: unknown[] = [];
    for (const { name, argument, decides } of steps) {
      const run = operations[name] as (db: Transaction<Schema>, argument: unknown) => Promise<unknown>;
      const value = await run(transaction, argument);
      values.push(value);
      if (decides === true && (value === undefined || value === false)) break;
    }
    all.push(values);
  }
  return all;
}

/** Ends a transaction that failed. Databases end some by themselves. */
export async function rollback(connection: Kysely<Schema>): Promise<void> {
  await sql`rollback`.execute(connection).catch(() => undefined);
}
