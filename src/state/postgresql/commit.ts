import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Client } from 'pg';
import { z } from 'zod';
import { isFault } from '../../faults.ts';
import { textOf, type Work } from '../database.ts';
import { rollback, runSteps } from '../run-group.ts';
import { StoreUnavailable } from '../store-unavailable.ts';
import type { Connection, Link } from './link.ts';
import { isBroken, isConflict, isFutureTransaction } from './postgresql-fault.ts';

const maxConflicts = 12;
const outcomeWaitMs = 5000;

/**
 * Thrown if the connection broke during a commit. The server knows the outcome of the transaction.
 */
class CommitUnknown extends Error {
  readonly transactionId: string;
  readonly history: string;
  readonly values: unknown[][];

  constructor(
    { transactionId, history }: { readonly transactionId: string; readonly history: string },
    values: unknown[][],
    cause: unknown,
  ) {
    super('the connection broke during a commit', { cause });
    this.transactionId = transactionId;
    this.history = history;
    this.values = values;
  }
}

/**
 * Commits a group in one transaction with a single snapshot (REPEATABLE READ): if another instance
 * changed the same row meanwhile, the group is run again on the current data. A broken connection
 * is replaced once. If it broke during the commit, the server is asked for the outcome, so that
 * nothing is done twice and nothing done is reported as failed.
 * @throws {StoreUnavailable} if the server does not answer in time; a group whose outcome could not
 *   be determined may have been committed
 */
export async function commit(link: Link, group: readonly Work[]): Promise<unknown[][]> {
  let conflicts = 0;
  let isBrokenBefore = false;
  for (;;) {
    try {
      return await link.use(async (connection) => attempt(connection, group));
    } catch (error) {
      if (error instanceof CommitUnknown) {
        if (await wasCommitted(link, error)) return error.values;
      } else if (isConflict(error) && group.length === 1 && conflicts < maxConflicts) {
        conflicts += 1;
        await delay(Math.random() * 2 ** Math.min(conflicts, 6));
      } else if (isBroken(error) && !isBrokenBefore) {
        isBrokenBefore = true;
      } else {
        throw error;
      }
    }
  }
}

async function attempt({ client, db, history }: Connection, group: readonly Work[]): Promise<unknown[][]> {
  return db.connection().execute(async (connection) => {
    const transactionId = await begin(client);
    let values: unknown[][];
    try {
      values = await runSteps(connection, group);
    } catch (error) {
      if (!isBroken(error)) await rollback(connection);
      throw error;
    }
    try {
      await sql`commit`.execute(connection);
      return values;
    } catch (error) {
      throw isBroken(error) ? new CommitUnknown({ transactionId, history }, values, error) : error;
    }
  });
}

/**
 * Begins a transaction and returns its identifier. Both statements go in one message, for which the
 * driver returns a list.
 */
async function begin(client: Client): Promise<string> {
  const results: unknown = await client.query('begin isolation level repeatable read; select pg_current_xact_id()::text as id');
  const last: unknown = Array.isArray(results) ? results.at(-1) : undefined;
  const rows = z.object({ rows: z.tuple([z.object({ id: z.string() })]) }).parse(last);
  return rows.rows[0].id;
}

/**
 * Checks whether the transaction was committed, and is where commits have to be: a server that was
 * restarted shows commits for which it still waits for its standby. After a failover or a crash, it
 * may show the commit of another transaction that was given the same identifier; but one without a
 * commit is without one in any case.
 * @throws {StoreUnavailable} if the server cannot be asked, or does not know
 */
async function wasCommitted(link: Link, { transactionId, history }: CommitUnknown): Promise<boolean> {
  const deadline = performance.now() + outcomeWaitMs;
  for (;;) {
    try {
      const status = await link.use(async ({ client, history: now }) => {
        const shown = await statusOf(client, transactionId);
        if (shown !== 'committed') return shown;
        if (now !== history) return 'unknown';
        // A commit after it: it waits for the standby as long as the one before.
        await client.query("select pg_logical_emit_message(true, 'signetd', '')");
        return shown;
      });
      if (status === 'committed') return true;
      if (status === 'aborted') return false;
      if (status === 'unknown') throw new StoreUnavailable('the server crashed, or another one has taken over', { code: 'COMMIT_UNKNOWN' });
    } catch (error) {
      if (isFault(error, 'COMMIT_UNKNOWN')) throw error;
      if (performance.now() > deadline) throw new StoreUnavailable(textOf(error), { code: 'COMMIT_UNKNOWN', cause: error });
    }
    if (performance.now() > deadline)
      throw new StoreUnavailable('the server does not know the outcome of the transaction', { code: 'COMMIT_UNKNOWN' });
    await delay(50);
  }
}

/** Returns what the server says about a transaction; null if it has forgotten it. */
async function statusOf(client: Client, transactionId: string): Promise<string | null | undefined> {
  try {
    const { rows } = await client.query<{ status: string | null }>('select pg_xact_status($1::xid8) as status', [transactionId]);
    return rows[0]?.status;
  } catch (error) {
    if (isFutureTransaction(error)) return 'aborted';
    throw error;
  }
}
