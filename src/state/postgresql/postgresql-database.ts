import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'pg';
import type { PostgresqlConfig } from '../../config/state-config.ts';
import { monotonicMs, type ClockReading } from '../clock.ts';
import { failureOf, textOf, type Change, type Database, type Failure, type Outcome, type Work } from '../database.ts';
import { checkNotNewer, migrate, SchemaTooNew } from '../migrate.ts';
import { runSteps } from '../run-group.ts';
import { StoreUnavailable } from '../store-unavailable.ts';
import { ChangeFeed, readingOf, serverNow } from './change-feed.ts';
import { commit } from './commit.ts';
import { Reconnection, Link } from './link.ts';
import { isBroken, isMisconfigured, postgresqlFault } from './postgresql-fault.ts';
import { WaitingNotes } from './waiting-notes.ts';

const pruneEveryMs = 60_000;
const startPauseMs = 500;
const oldestVersion = 130_000;

/** What the start of a store has. */
interface Opened {
  readonly reconnection: Reconnection;
  readonly writer: Link;
  readonly clock: ClockReading;
}

/**
 * A PostgreSQL database shared by several instances. One connection commits groups, one reads, one
 * queries the change feed, so none waits for another.
 */
export class PostgresqlDatabase implements Database {
  readonly #writer: Link;
  readonly #reader: Link;
  readonly #feedLink: Link;
  readonly #feed: ChangeFeed;
  readonly #pruning: NodeJS.Timeout;

  private constructor(config: PostgresqlConfig, { reconnection, writer, clock }: Opened) {
    this.#writer = writer;
    this.#reader = new Link(config, reconnection);
    this.#feedLink = new Link(config, reconnection);
    this.#feed = new ChangeFeed(this.#feedLink, clock);
    this.#pruning = setInterval(() => {
      // The next round tries again.
      this.#feed.prune().catch(() => undefined);
    }, pruneEveryMs);
  }

  /**
   * Waits for an unavailable server, reporting the reason, and migrates the schema.
   * @throws {Error} if waiting would not help: wrong password, no such database, schema newer than
   *   this program
   */
  static async open(config: PostgresqlConfig, say: (message: string) => void): Promise<PostgresqlDatabase> {
    const reconnection = new Reconnection();
    const writer = new Link(config, reconnection);
    const waiting = new WaitingNotes(say);
    for (;;) {
      try {
        const clock = await writer.use(async ({ client, db }) => {
          const reading = await checkVersion(client);
          await migrate(db);
          return reading;
        });
        waiting.over();
        return new PostgresqlDatabase(config, { reconnection, writer, clock });
      } catch (error) {
        const cause = error instanceof StoreUnavailable ? (error.cause ?? error) : error;
        if (cause instanceof SchemaTooNew || (isMisconfigured(cause) && !(cause instanceof StoreUnavailable))) {
          await writer.close();
          throw cause;
        }
        waiting.attemptFailed(textOf(cause));
        await delay(startPauseMs);
      }
    }
  }

  /**
   * Opens the database read-only while instances use it; the schema is not migrated.
   * @throws {Error} if it does not answer
   */
  static async openReadOnly(config: PostgresqlConfig): Promise<PostgresqlDatabase> {
    const reconnection = new Reconnection();
    const writer = new Link(config, reconnection);
    try {
      const clock = await writer.use(async ({ client, db }) => {
        const reading = await checkVersion(client);
        await checkNotNewer(db);
        return reading;
      });
      return new PostgresqlDatabase(config, { reconnection, writer, clock });
    } catch (error) {
      await writer.close();
      throw error;
    }
  }

  async run(group: readonly Work[]): Promise<Outcome[]> {
    try {
      const values = await commit(this.#writer, group);
      return group.map(({ id }, index) => ({ id, values: values[index] ?? [] }));
    } catch (error) {
      const failure = this.failureOf(error);
      // If the server is unavailable, every member fails.
      if (group.length === 1 || failure.kind === 'unavailable') return group.map(({ id }) => ({ id, failure }));
      const outcomes: Outcome[] = [];
      for (const one of group) outcomes.push(...(await this.run([one])));
      return outcomes;
    }
  }

  async read(work: Work): Promise<Outcome> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const [values] = await this.#reader.use(async ({ db }) =>
          db.connection().execute(async (connection) => runSteps(connection, [work])),
        );
        return { id: work.id, values: values ?? [] };
      } catch (error) {
        if (attempt === 1 && isBroken(error)) continue;
        return { id: work.id, failure: this.failureOf(error) };
      }
    }
  }

  async changes(): Promise<Change[]> {
    try {
      return await this.#feed.look();
    } catch (error) {
      if (!isBroken(error)) throw error;
      return this.#feed.look();
    }
  }

  failureOf(error: unknown): Failure {
    return failureOf(error, postgresqlFault);
  }

  get clock(): ClockReading {
    return this.#feed.clock;
  }

  async close(): Promise<void> {
    clearInterval(this.#pruning);
    await Promise.all([this.#writer.close(), this.#reader.close(), this.#feedLink.close()]);
  }
}

/**
 * Checks the version of the server and returns the reading of its clock. `xid8` and its functions
 * need PostgreSQL 13.
 */
async function checkVersion(client: Client): Promise<ClockReading> {
  const beganMs = monotonicMs();
  const { rows } = await client.query<{ version: number; now: number }>(
    `select current_setting('server_version_num')::int as version, ${serverNow} as now`,
  );
  const [row] = rows;
  if (row === undefined || row.version < oldestVersion) throw new Error('PostgreSQL 13 or later is required');
  return readingOf(row.now, beganMs, monotonicMs());
}
