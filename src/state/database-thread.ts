import { dirname } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import type { StateConfig } from '../config/state-config.ts';
import { becomeOwnerOf } from '../service/file-owner.ts';
import type { ClockReading } from './clock.ts';
import { textOf, type Change, type Database, type Failure, type Outcome, type Work } from './database.ts';
import { readOnlyOperations } from './repository-functions.ts';
import { SqliteDatabase } from './sqlite/sqlite-database.ts';

/** Data that the thread starts with. */
export interface Opening {
  readonly config: StateConfig;
  readonly readOnly: boolean;
}

/** Messages from the main thread of the daemon. */
export type ToDatabase =
  | ({ readonly kind: 'work' } & Work)
  | { readonly kind: 'changes'; readonly id: number }
  | { readonly kind: 'ping'; readonly id: number }
  | { readonly kind: 'close' };

/** Messages to the main thread. Changes are sent before the answer to the request. */
export type FromDatabase =
  | { readonly kind: 'ready'; readonly clock: ClockReading | undefined }
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'log'; readonly message: string }
  | { readonly kind: 'pong'; readonly id: number }
  | { readonly kind: 'outcomes'; readonly outcomes: readonly Outcome[] }
  | { readonly kind: 'changes'; readonly id: number; readonly changes: readonly Change[]; readonly clock: ClockReading | undefined }
  | { readonly kind: 'noChanges'; readonly id: number; readonly failure: Failure };

/**
 * Maximum size of a group: large enough to share one wait for the disk, small enough that no member
 * waits long.
 */
const groupMax = 128;

if (parentPort === null) throw new Error('database-thread.ts runs as a worker thread');
const main = parentPort;
const waiting: Work[] = [];
let working = false;

const send = (message: FromDatabase): void => {
  main.postMessage(message);
};

try {
  const database = await open(workerData as Opening);
  main.on('message', (message: ToDatabase) => {
    if (message.kind === 'close') {
      void database.close().then(() => {
        main.close();
      });
    } else if (message.kind === 'ping') {
      send({ kind: 'pong', id: message.id });
    } else if (message.kind === 'changes') {
      void look(database, message.id);
    } else if (database.read !== undefined && message.steps.every(({ name }) => readOnlyOperations.has(name))) {
      void database.read(message).then((outcome) => {
        send({ kind: 'outcomes', outcomes: [outcome] });
      });
    } else {
      waiting.push(message);
      if (!working) void work(database);
    }
  });
  send({ kind: 'ready', clock: database.clock });
} catch (error) {
  send({ kind: 'failed', reason: textOf(error) });
}

async function open({ config, readOnly }: Opening): Promise<Database> {
  if (config.kind === 'sqlite') {
    // SQLite opens files beside the database by their names, at any time.
    await becomeOwnerOf(dirname(config.path));
    return readOnly ? SqliteDatabase.openReadOnly(config.path) : SqliteDatabase.open(config.path);
  }
  // The driver takes as long to load as the rest of the thread; SQLite does without.
  const { PostgresqlDatabase } = await import('./postgresql/postgresql-database.ts');
  if (readOnly) return PostgresqlDatabase.openReadOnly(config);
  return PostgresqlDatabase.open(config, (message) => {
    send({ kind: 'log', message });
  });
}

/** Commits groups: everything that arrived during one commit forms the next group. */
async function work(database: Database): Promise<void> {
  working = true;
  while (waiting.length > 0) send({ kind: 'outcomes', outcomes: await database.run(waiting.splice(0, groupMax)) });
  working = false;
}

async function look(database: Database, id: number): Promise<void> {
  try {
    const changes = await database.changes();
    send({ kind: 'changes', id, changes, clock: database.clock });
  } catch (error) {
    send({ kind: 'noChanges', id, failure: database.failureOf(error) });
  }
}
