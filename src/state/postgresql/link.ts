import { Kysely, PostgresDialect } from 'kysely';
import type { Client } from 'pg';
import type { PostgresqlConfig } from '../../config/state-config.ts';
import { textOf } from '../database.ts';
import type { Schema } from '../schema.ts';
import { StoreUnavailable } from '../store-unavailable.ts';
import { openClient } from './open-client.ts';
import { isBroken } from './postgresql-fault.ts';

const firstPauseMs = 50;
const longestPauseMs = 1000;

/** An open connection. */
export interface Connection {
  readonly client: Client;
  readonly db: Kysely<Schema>;
  /**
   * Changes with a failover, and with a crash of the server: it may then give the identifiers of
   * transactions that it has lost to others.
   */
  readonly history: string;
}

/**
 * Spaces out the attempts to reach a server that is unavailable: for all links to it together, so
 * that all have their connections as soon as one has.
 */
export class Reconnection {
  #pauseMs = 0;
  #notBefore = 0;
  #lastReason = '';
  /** Connections that were opened. */
  #opened = 0;

  /**
   * Opens a connection.
   * @throws {StoreUnavailable} if it cannot be opened, or it is too early for another attempt
   */
  async make(open: () => Promise<Connection>): Promise<Connection> {
    if (performance.now() < this.#notBefore) throw new StoreUnavailable(this.#lastReason);
    const openedBefore = this.#opened;
    try {
      const connection = await open();
      this.#opened += 1;
      this.#pauseMs = 0;
      this.#notBefore = 0;
      return connection;
    } catch (error) {
      const reason = textOf(error);
      // An attempt that began earlier tells nothing after one that succeeded.
      if (this.#opened === openedBefore) {
        this.#pauseMs = Math.min(longestPauseMs, Math.max(firstPauseMs, this.#pauseMs * 2));
        this.#notBefore = performance.now() + this.#pauseMs;
        this.#lastReason = reason;
      }
      throw new StoreUnavailable(reason, { cause: error });
    }
  }
}

/**
 * Holds one connection, opened on demand and again after it broke. While the server is unavailable,
 * attempts are spaced out and callers do not wait.
 */
export class Link {
  readonly #config: PostgresqlConfig;
  readonly #reconnection: Reconnection;
  #connection: Connection | undefined;
  /** Settles with the last task. */
  #last: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(config: PostgresqlConfig, reconnection: Reconnection) {
    this.#config = config;
    this.#reconnection = reconnection;
  }

  /**
   * Runs tasks with the connection, one at a time. The connection is dropped after an error that
   * shows that it broke.
   * @throws {StoreUnavailable} if there is no connection
   */
  async use<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    const turn = this.#last.then(async () => this.#run(work));
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  async #run<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    // A new connection would keep the thread alive.
    if (this.#isClosed) throw new StoreUnavailable('it is closed');
    const connection = (this.#connection ??= await this.#reconnection.make(async () => this.#open()));
    try {
      return await work(connection);
    } catch (error) {
      if (isBroken(error) || (error instanceof Error && isBroken(error.cause))) this.#giveUp(connection);
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.#last;
    this.#isClosed = true;
    await this.#connection?.client.end().catch(() => undefined);
  }

  #giveUp({ client }: Connection): void {
    this.#connection = undefined;
    // After a time-out, an orderly close would wait for the very network that does not respond.
    client.end().catch(() => undefined);
    client.connection.stream.destroy();
  }

  async #open(): Promise<Connection> {
    const client = await openClient(this.#config);
    let history: string;
    try {
      history = await prepare(client);
    } catch (error) {
      client.end().catch(() => undefined);
      client.connection.stream.destroy();
      throw error;
    }
    client.once('end', () => {
      if (this.#connection?.client === client) this.#connection = undefined;
    });
    return { client, db: kyselyOver(client), history };
  }
}

/**
 * Prepares a connection: commits are on the server's disk when they return, and the server accepts
 * writes. Returns its history: the timeline, which a failover changes, and the beginning of its
 * statistics, which it discards when it recovers from a crash.
 */
async function prepare(client: Client): Promise<string> {
  const { rows } = await client.query<{ history: string | null }>(
    `select case when not pg_is_in_recovery() then left(pg_walfile_name(pg_current_wal_lsn()), 8) || ' ' ||
         coalesce((select extract(epoch from stats_reset)::text from pg_stat_bgwriter), '') end as history,
       set_config('synchronous_commit', case when current_setting('synchronous_commit') = 'off' then 'on' else current_setting('synchronous_commit') end, false)`,
  );
  const history = rows[0]?.history ?? null;
  if (history === null) throw Object.assign(new Error('the server is a standby'), { code: 'ESTANDBY' });
  return history;
}

/** Returns Kysely over this one connection, without a pool, since one task at a time uses it. */
export function kyselyOver(client: Client): Kysely<Schema> {
  return new Kysely<Schema>({
    dialect: new PostgresDialect({
      pool: {
        options: {},
        connect: async () =>
          Promise.resolve({
            query: client.query.bind(client),
            release: () => undefined,
          }),
        end: async () => Promise.resolve(),
      },
    }),
  });
}
