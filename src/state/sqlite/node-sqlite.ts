import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import type { SqliteDatabase, SqliteStatement } from 'kysely';

/**
 * Opens Node's built-in SQLite in the form that Kysely's dialect expects. Kysely asks each
 * statement whether it reads, which DatabaseSync does not report: a statement with columns does.
 */
export function openDatabase(path: URL, readOnly: boolean): SqliteDatabase {
  const database = new DatabaseSync(path, { enableForeignKeyConstraints: true, timeout: 5000, readOnly });
  // FULL: a commit is on disk when it returns.
  if (!readOnly) database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;');
  return {
    prepare(sql): SqliteStatement {
      const statement = database.prepare(sql);
      return {
        reader: statement.columns().length > 0,
        all: (parameters) => statement.all(...inputs(parameters)),
        run: (parameters) => statement.run(...inputs(parameters)),
        iterate: (parameters) => statement.iterate(...inputs(parameters)),
      };
    },
    close() {
      database.close();
    },
  };
}

function inputs(parameters: readonly unknown[]): SQLInputValue[] {
  return parameters.map((value) => {
    if (value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint') return value;
    if (value instanceof Uint8Array) return value;
    throw new TypeError(`SQLite does not accept values of type ${typeof value}`);
  });
}
