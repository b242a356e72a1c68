import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StateConfig } from '../../src/config/state-config.ts';
import { ScratchPostgresql } from '../support/postgresql.ts';
import { isLongRun } from '../support/repetitions.ts';

/** A kind of database, with what its tests need. */
export interface TestDatabases {
  start(): Promise<void>;
  /** Configuration of a new, empty database. */
  fresh(): Promise<StateConfig>;
  stop(): Promise<void>;
}

function sqlite(): TestDatabases {
  let directory: string | undefined;
  let count = 0;
  return {
    async start() {
      directory = mkdtempSync(join(tmpdir(), 'signetd-state-'));
      return Promise.resolve();
    },
    async fresh() {
      // Otherwise the database would lie in the working directory.
      if (directory === undefined) throw new Error('the directory is not made');
      count += 1;
      return Promise.resolve(StateConfig.parse({ path: join(directory, `${count}.sqlite`) }));
    },
    async stop() {
      if (directory !== undefined) rmSync(directory, { recursive: true, force: true });
      return Promise.resolve();
    },
  };
}

function postgresql(): TestDatabases {
  let server: ScratchPostgresql | undefined;
  return {
    async start() {
      server = await ScratchPostgresql.start();
    },
    async fresh() {
      if (server === undefined) throw new Error('the server is not started');
      return server.newDatabase();
    },
    async stop() {
      await server?.remove();
    },
  };
}

/** One suite runs against both. */
export const databases = { SQLite: sqlite, PostgreSQL: postgresql };

/** Both in a long run. Elsewhere SQLite alone: for suites of what is no different in a shared store. */
export const databasesOfRun: Partial<typeof databases> = isLongRun ? databases : { SQLite: sqlite };
