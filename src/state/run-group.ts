import { sql, type Kysely, type Transaction } from 'kysely';
import type { Work } from './database.ts';
import { operations } from './repository-functions.ts';
import type { Schema } from './schema.ts';

/**
 * Runs all steps of a group in the open transaction of the connection. Returns the results of each
 * member.
 */
export async function runSteps(connection: Kysely<Schema>, group: readonly Work[]): Promise<unknown[][]> {
  // The transaction was begun manually: Kysely's own hides the error behind that of a rollback that
  // the database has already done.
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

/** Rolls back a failed transaction. Databases end some by themselves. */
export async function rollback(connection: Kysely<Schema>): Promise<void> {
  await sql`rollback`.execute(connection).catch(() => undefined);
}
