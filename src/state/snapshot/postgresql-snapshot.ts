import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import type { Client } from 'pg';
import type { PostgresqlConfig } from '../../config/state-config.ts';
import { errorCode } from '../../telemetry/error-code.ts';
import { textOf } from '../database.ts';
import { childUser, openClient } from '../postgresql/open-client.ts';
import { StoreNotOpened } from '../store-unavailable.ts';
import { asidePrefix, toolEnvironment } from './postgresql-tools.ts';
import type { SnapshotFile, StateSnapshot } from './state-snapshot.ts';

const rowsAtOnce = 1000;
const pieceBytes = 8 * 1024 * 1024;

/**
 * A PostgreSQL database at one moment. `pg_dump` reads the same snapshot as our own queries, and
 * writes the custom format, which `pg_restore` restores in one transaction.
 */
export class PostgresqlSnapshot implements StateSnapshot {
  readonly #config: PostgresqlConfig;
  readonly #client: Client;
  readonly #id: string;

  private constructor(config: PostgresqlConfig, client: Client, id: string) {
    this.#config = config;
    this.#client = client;
    this.#id = id;
  }

  static async open(config: PostgresqlConfig): Promise<PostgresqlSnapshot> {
    // The copy takes longer than any statement of the service.
    const unlimited = { statement_timeout: 0, idle_in_transaction_session_timeout: 0, query_timeout: 0 };
    const client = await openClient(config, { ...unlimited, application_name: 'signetctl' }).catch((error: unknown) => {
      throw new StoreNotOpened(`PostgreSQL at ${config.host}, database ${config.database}: ${textOf(error)}`, { cause: error });
    });
    try {
      await client.query('begin isolation level repeatable read read only');
      const { rows } = await client.query<{ id: string }>('select pg_export_snapshot() as id');
      return new PostgresqlSnapshot(config, client, rows[0]?.id ?? '');
    } catch (error) {
      await client.end();
      throw error;
    }
  }

  async *rows(select: string): AsyncGenerator {
    await this.#client.query(`declare backup_rows no scroll cursor for ${select}`);
    try {
      for (;;) {
        const { rows } = await this.#client.query<Record<string, unknown>>(`fetch ${rowsAtOnce} from backup_rows`);
        yield* rows;
        if (rows.length < rowsAtOnce) return;
      }
    } finally {
      await this.#client.query('close backup_rows');
    }
  }

  /** The dump in pieces, since its size is not known before its end: `cat` puts them together. */
  async *files(): AsyncGenerator<SnapshotFile> {
    let number = 0;
    for await (const piece of piecesOf(dump(this.#config, this.#id))) {
      number += 1;
      yield { name: `postgresql.dump.${String(number).padStart(5, '0')}`, bytes: piece.length, content: only(piece) };
    }
  }

  async close(): Promise<void> {
    await this.#client.end();
  }
}

async function* only(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** @throws {Error} if pg_dump is not installed or fails */
async function* dump(config: PostgresqlConfig, snapshot: string): AsyncGenerator<Uint8Array> {
  const options = [
    '--format=custom',
    `--snapshot=${snapshot}`,
    '--no-owner',
    '--no-privileges',
    '--no-password',
    `--exclude-schema=${asidePrefix}*`,
  ];
  const child = spawn('pg_dump', options, {
    ...(await childUser(config)),
    env: toolEnvironment(config),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = text(child.stderr);
  const ended = once(child, 'close');
  // Awaited below; a failure to start must not be unhandled meanwhile.
  ended.catch(() => undefined);
  try {
    for await (const chunk of child.stdout) yield chunk as Uint8Array;
    const [code] = (await ended) as [number | null];
    if (code !== 0) throw new Error(`pg_dump failed: ${(await said).trim().replaceAll('\n', '; ')}`);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') throw new Error('pg_dump is not installed (Debian package postgresql-client)', { cause: error });
    throw error;
  } finally {
    child.kill();
  }
}

async function* piecesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let gathered: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    gathered.push(chunk);
    bytes += chunk.length;
    if (bytes < pieceBytes) continue;
    yield Buffer.concat(gathered);
    gathered = [];
    bytes = 0;
  }
  if (bytes > 0) yield Buffer.concat(gathered);
}
