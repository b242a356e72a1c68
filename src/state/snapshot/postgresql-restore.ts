import { escapeIdentifier, type Client } from 'pg';
import type { PostgresqlConfig } from '../../config/state-config.ts';
import { childUser, openClient } from '../postgresql/open-client.ts';
import { PgRestore } from './pg-restore.ts';
import { asidePrefix, toolEnvironment } from './postgresql-tools.ts';

/** What is in a database before a restore. */
export interface DatabaseContents {
  /** Number of connections of signetd, of any instance. */
  readonly connections: number;
  readonly tables: readonly string[];
}

export async function databaseContents(config: PostgresqlConfig): Promise<DatabaseContents> {
  return withClient(config, async (client) => {
    const sessions = await client.query(
      "select pid from pg_stat_activity where datname = current_database() and application_name = 'signetd' and pid <> pg_backend_pid()",
    );
    return { connections: sessions.rows.length, tables: await tablesOf(client) };
  });
}

/**
 * Restores a dump in one transaction. Tables that are in the way are moved to a schema of their own
 * first, and back if the restore fails.
 * @param pieces the dump; if this throws, nothing is committed
 * @returns the name of that schema, if there were tables
 * @throws {Error} if pg_restore is not installed or fails
 */
export async function restoreDump(config: PostgresqlConfig, pieces: AsyncIterable<Uint8Array>): Promise<string | undefined> {
  const aside = await withClient(config, moveAside);
  try {
    await runRestore(config, pieces);
    return aside?.schema;
  } catch (error) {
    if (aside !== undefined) await withClient(config, async (client) => moveBack(client, aside));
    throw error;
  }
}

interface Aside {
  /** The schema of the tables before. */
  readonly from: string;
  readonly schema: string;
  /** Statements without their schema, such as `table "keys"`. */
  readonly objects: readonly string[];
}

async function moveAside(client: Client): Promise<Aside | undefined> {
  const tables = (await tablesOf(client)).map((table) => `table ${escapeIdentifier(table)}`);
  const objects = [...tables, ...(await functionsOf(client)), ...(await domainsOf(client))];
  if (objects.length === 0) return undefined;
  const { rows } = await client.query<{ schema: string }>('select current_schema() as schema');
  const from = rows[0]?.schema ?? 'public';
  const schema = `${asidePrefix}${new Date()
    .toISOString()
    .replaceAll(/[-:]|\.\d+/g, '')
    .toLowerCase()}`;
  await client.query('begin');
  await client.query(`create schema ${escapeIdentifier(schema)}`);
  for (const object of objects) await client.query(`alter ${object} set schema ${escapeIdentifier(schema)}`);
  await client.query('commit');
  return { from, schema, objects };
}

async function moveBack(client: Client, { from, schema, objects }: Aside): Promise<void> {
  await client.query('begin');
  await client.query(`set local search_path to ${escapeIdentifier(schema)}`);
  for (const object of objects) await client.query(`alter ${object} set schema ${escapeIdentifier(from)}`);
  await client.query(`drop schema ${escapeIdentifier(schema)}`);
  await client.query('commit');
}

async function runRestore(config: PostgresqlConfig, pieces: AsyncIterable<Uint8Array>): Promise<void> {
  const options = [
    '--single-transaction',
    '--exit-on-error',
    '--no-owner',
    '--no-privileges',
    '--no-password',
    `--dbname=${config.database}`,
  ];
  const program = new PgRestore(options, { ...(await childUser(config)), env: toolEnvironment(config) });
  try {
    for await (const piece of pieces) await program.write(piece);
  } catch (error) {
    // Without the rest of the dump it cannot commit.
    await program.kill();
    throw error;
  }
  await program.end();
}

async function tablesOf(client: Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    'select tablename as name from pg_tables where schemaname = current_schema() order by tablename',
  );
  return rows.map(({ name }) => name);
}

/** The functions of the triggers. They have no arguments, and no extension brought them. */
async function functionsOf(client: Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select proname as name from pg_proc where pronamespace = current_schema()::regnamespace and pronargs = 0 and prorettype = 'trigger'::regtype
     and not exists (select 1 from pg_depend where objid = pg_proc.oid and deptype = 'e')`,
  );
  return rows.map(({ name }) => `function ${escapeIdentifier(name)}()`);
}

async function domainsOf(client: Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    "select typname as name from pg_type where typnamespace = current_schema()::regnamespace and typtype = 'd'",
  );
  return rows.map(({ name }) => `domain ${escapeIdentifier(name)}`);
}

async function withClient<T>(config: PostgresqlConfig, use: (client: Client) => Promise<T>): Promise<T> {
  const client = await openClient(config, { application_name: 'signetctl' });
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}
