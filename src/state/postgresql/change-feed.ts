import { monotonicMs, type ClockReading } from '../clock.ts';
import type { Change } from '../database.ts';
import type { Connection, Link } from './link.ts';

/**
 * Rows of the feed are kept longer than this. An instance that has not read the feed for longer may
 * have missed changes.
 */
const maxGapMs = 5 * 60_000;
const keptMinutes = 10;
/** A query that took longer says too little about the server's clock. */
const clockMaxMs = 1000;

/** SQL expression for milliseconds since epoch. */
export const serverNow = '(extract(epoch from clock_timestamp()) * 1000)::bigint';

/**
 * Returns the reading of the server's clock, which was taken between two moments of the local
 * clock.
 */
export function readingOf(serverMs: number, beganMs: number, endedMs: number): ClockReading {
  return { serverMs, atMs: (beganMs + endedMs) / 2 };
}

/**
 * Returns the rows that changed since the last query, in one statement: triggers record each change
 * with its transaction identifier, and changes that the snapshot of the last query did not see are
 * new. Every change committed before the call is reported; changes are repeated only after a gap.
 */
export class ChangeFeed {
  readonly #link: Link;
  #connection: Connection | undefined;
  #snapshot = '';
  #lookedAtMs = 0;
  #clock: ClockReading;

  constructor(link: Link, clock: ClockReading) {
    this.#link = link;
    this.#clock = clock;
  }

  /** The reading of the last query. */
  get clock(): ClockReading {
    return this.#clock;
  }

  async look(): Promise<Change[]> {
    return this.#link.use(async (connection) => {
      const beganMs = monotonicMs();
      const { rows } = await connection.client.query<{ snapshot: string; now: number; changes: [string, string][] | null }>({
        name: 'changes',
        text: `select pg_current_snapshot()::text as snapshot, ${serverNow} as now, (
                 select json_agg(json_build_array(table_name, row_id)) from changes
                 where transaction_id >= pg_snapshot_xmin($1::pg_snapshot) and not pg_visible_in_snapshot(transaction_id, $1::pg_snapshot)
               ) as changes`,
        values: [this.#snapshot === '' ? '1:1:' : this.#snapshot],
      });
      const [row] = rows;
      if (row === undefined) throw new Error('the change feed returned no row');
      const nowMs = monotonicMs();
      if (nowMs - beganMs < clockMaxMs) this.#clock = readingOf(row.now, beganMs, nowMs);
      // The same name may now lead to another server.
      const isGap = this.#connection !== connection || nowMs - this.#lookedAtMs > maxGapMs;
      this.#connection = connection;
      this.#snapshot = row.snapshot;
      this.#lookedAtMs = nowMs;
      return isGap ? ['everything'] : (row.changes ?? []).map(([table, id]) => ({ table, id }));
    });
  }

  /** Deletes rows that every instance has seen or will never ask for. */
  async prune(): Promise<void> {
    await this.#link.use(async ({ client }) =>
      client.query(`delete from changes where created_at < now() - interval '${keptMinutes} minutes'`),
    );
  }
}
