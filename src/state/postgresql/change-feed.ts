import { monotonicMs, type ClockReading } from '../clock.ts';
import type { Change } from '../database.ts';
import type { Connection, Link } from './link.ts';

/**
 * Rows of the feed live longer than this: an instance that has not looked for so long cannot know
 * what it missed.
 */
const maxGapMs = 5 * 60_000;
const keptMinutes = 10;
/** A look that took longer says too little of the server's clock. */
const clockMaxMs = 1000;

/** SQL: milliseconds since epoch. */
export const serverNow = '(extract(epoch from clock_timestamp()) * 1000)::bigint';

/** The server read its clock between two moments of ours. */
export function readingOf(serverMs: number, beganMs: number, endedMs: number): ClockReading {
  return { serverMs, atMs: (beganMs + endedMs) / 2 };
}

/**
 * Tells which rows changed since the last look, by one statement: triggers note each change with
 * the identifier of its transaction, and what the snapshot of the last look did not see is new.
 * Whatever was committed before the call is told; nothing is told twice but after a gap.
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

  /** As the last look found it. */
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
      if (row === undefined) throw new Error('the change feed answered nothing');
      const nowMs = monotonicMs();
      if (nowMs - beganMs < clockMaxMs) this.#clock = readingOf(row.now, beganMs, nowMs);
      // Another server may answer behind the same name now.
      const isGap = this.#connection !== connection || nowMs - this.#lookedAtMs > maxGapMs;
      this.#connection = connection;
      this.#snapshot = row.snapshot;
      this.#lookedAtMs = nowMs;
      return isGap ? ['everything'] : (row.changes ?? []).map(([table, id]) => ({ table, id }));
    });
  }

  /** Takes away what every instance has seen or will not ask for. */
  async prune(): Promise<void> {
    await this.#link.use(async ({ client }) =>
      client.query(`delete from changes where created_at < now() - interval '${keptMinutes} minutes'`),
    );
  }
}
