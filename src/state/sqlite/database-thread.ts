import { parentPort, workerData } from 'node:worker_threads';
import { Kysely, sql, SqliteDialect, type Transaction } from 'kysely';
import { Migrator } from 'kysely/migration';
import { migrationProvider } from '../migrations/all.ts';
import { repositories } from '../repositories/all.ts';
import type { Schema } from '../schema.ts';
import type { Step } from '../step.ts';
import { openDatabase } from './node-sqlite.ts';

/** A request to the database thread, and its answer. */
export interface DatabaseRequest {
  readonly id: number;
  /** Committed together, or not at all. */
  readonly steps: readonly Step[];
}
export type DatabaseAnswer =
  | { readonly id: number; readonly values: readonly unknown[] }
  | { readonly id: number; readonly error: string; readonly storeFull: boolean };
export type DatabaseStart = { readonly kind: 'ready' } | { readonly kind: 'failed'; readonly message: string };

if (parentPort === null) throw new Error('database-thread.ts runs as a worker thread');
const main = parentPort;
const waiting: DatabaseRequest[] = [];
let working = false;

/** SQLITE_FULL, SQLITE_IOERR, SQLITE_READONLY, SQLITE_CANTOPEN. */
const unwritable = new Set([13, 10, 8, 14]);

try {
  const db = await open((workerData as { path: string }).path);
  main.on('message', (request: DatabaseRequest | 'close') => {
    if (request === 'close') {
      void db.destroy().then(() => {
        main.close();
      });
      return;
    }
    waiting.push(request);
    if (!working) void work(db);
  });
  main.postMessage({ kind: 'ready' } satisfies DatabaseStart);
} catch (error) {
  main.postMessage({ kind: 'failed', message: textOf(error) } satisfies DatabaseStart);
}

async function open(path: string): Promise<Kysely<Schema>> {
  const db = new Kysely<Schema>({ dialect: new SqliteDialect({ database: openDatabase(path) }) });
  const { error } = await new Migrator({ db, provider: migrationProvider }).migrateToLatest();
  if (error !== undefined) throw new Error(`the state store cannot be brought up to date: ${textOf(error)}`);
  return db;
}

/** Carries out everything that waits as one group with one commit, and answers when that commit is on the disk. */
async function work(db: Kysely<Schema>): Promise<void> {
  working = true;
  while (waiting.length > 0) {
    const group = waiting.splice(0);
    let answers: DatabaseAnswer[];
    try {
      answers = await db.transaction().execute(async (transaction) => runGroup(transaction, group));
    } catch (error) {
      answers = group.map(({ id }) => failed(id, error));
    }
    for (const answer of answers) main.postMessage(answer);
  }
  working = false;
}

async function runGroup(transaction: Transaction<Schema>, group: readonly DatabaseRequest[]): Promise<DatabaseAnswer[]> {
  const answers: DatabaseAnswer[] = [];
  for (const request of group) {
    answers.push(await runOne(transaction, request));
  }
  return answers;
}

/** A savepoint each: what fails is undone alone. */
async function runOne(transaction: Transaction<Schema>, { id, steps }: DatabaseRequest): Promise<DatabaseAnswer> {
  await sql`savepoint one`.execute(transaction);
  try {
    const values: unknown[] = [];
    for (const { name, argument } of steps) {
      const run = repositories[name] as (db: Transaction<Schema>, argument: unknown) => Promise<unknown>;
      values.push(await run(transaction, argument));
    }
    await sql`release savepoint one`.execute(transaction);
    return { id, values };
  } catch (error) {
    await sql`rollback to savepoint one`.execute(transaction);
    await sql`release savepoint one`.execute(transaction);
    return failed(id, error);
  }
}

function failed(id: number, error: unknown): DatabaseAnswer {
  const code = error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' ? error.errcode & 0xff : undefined;
  return { id, error: textOf(error), storeFull: code !== undefined && unwritable.has(code) };
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
