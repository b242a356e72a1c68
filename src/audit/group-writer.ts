import { Refusal } from '../result-codes.ts';
import type { Logger } from '../telemetry/log.ts';
import { reasonOf } from '../telemetry/reason-of.ts';
import type { Chain } from './chain.ts';
import { entryBody } from './line.ts';
import type { Entry, FilePlace } from './record.ts';

const retryMs = 500;
/** How long a record waits at most for others that are near. */
const waitMs = 4;
/** Work that takes longer is not near its record: others do not wait for it. */
const nearMaxMs = 20;

interface Waiting {
  readonly body: string;
  /** Time of the request (monotonic clock). */
  readonly sinceMs: number;
  resolve(place: FilePlace): void;
  reject(error: Error): void;
}

interface Outage {
  /** ISO 8601. */
  readonly since: string;
  readonly reason: string;
  /** Number of requests and operators' commands refused so far. */
  refused: number;
}

/**
 * Writes records in groups, each synced once: while one group is written the next one accumulates,
 * and a group leaves when no other record is near, or after 4 ms. After a failure it accepts nothing
 * until a record can be written again, which it tries twice a second.
 */
export class GroupWriter {
  readonly #chain: Chain;
  readonly #log: Logger;
  readonly #recovered: () => void;
  readonly #waitMs: number;
  #waiting: Waiting[] = [];
  /** Writing of the current group and all later ones. */
  #work: Promise<void> | undefined;
  #outage: Outage | undefined;
  #retry: NodeJS.Timeout | undefined;
  #inWork: readonly Waiting[] = [];
  #isClosed = false;
  /** Work that will soon append a record, with its begin (monotonic clock), oldest first. */
  readonly #near = new Map<object, number>();
  /** Lets the group leave that waits for other records. */
  #letLeave: (() => void) | undefined;

  /** @param wait how long a record waits at most for others, in milliseconds */
  constructor(chain: Chain, log: Logger, recovered: () => void, wait = waitMs) {
    this.#chain = chain;
    this.#log = log;
    this.#recovered = recovered;
    this.#waitMs = wait;
  }

  get writable(): boolean {
    return this.#outage === undefined;
  }

  /** Time for which the oldest pending record has been waiting for the disk. */
  get lagSeconds(): number {
    const oldest = this.#inWork[0] ?? this.#waiting[0];
    return oldest === undefined ? 0 : (performance.now() - oldest.sinceMs) / 1000;
  }

  /** Call it before anything is done. @throws {NotWritable} if the last write failed, or after `close` */
  checkWritable(): void {
    if (this.#isClosed) throw new NotWritable('it is closed');
    if (this.#outage === undefined) return;
    this.#outage.refused += 1;
    throw new NotWritable(this.#outage.reason);
  }

  /** Returns once the record is on disk. @throws {Refusal} STORE_FULL */
  async append(entry: Entry): Promise<FilePlace> {
    if (this.#outage !== undefined) throw unwritable(this.#outage.reason);
    if (this.#isClosed) throw unwritable('it is closed');
    return new Promise((resolve, reject) => {
      this.#waiting.push({ body: entryBody(entry), sinceMs: performance.now(), resolve, reject });
      this.#work ??= this.#writeAll();
    });
  }

  /** Announces work that will append a record: others wait for it for a moment. */
  comesNear(work: object): void {
    this.#near.set(work, performance.now());
  }

  /** The work has ended: its record is appended in this turn of the event loop, or never. */
  hasArrived(work: object): void {
    this.#near.delete(work);
    if (this.#near.size === 0) this.#letLeave?.();
  }

  /** Runs work on the chain itself, between two groups. */
  async between<T>(use: (chain: Chain) => Promise<T>): Promise<T> {
    while (this.#work !== undefined) await this.#work;
    const turn = Promise.withResolvers<void>();
    this.#work = turn.promise;
    try {
      return await use(this.#chain);
    } finally {
      this.#work = undefined;
      turn.resolve();
      if (this.#waiting.length > 0) this.#work ??= this.#writeAll();
    }
  }

  /** Waits for the last group, then closes the file. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    this.#letLeave?.();
    await this.between(async (chain) => chain.close());
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      await this.#gather();
      const group = this.#waiting;
      this.#waiting = [];
      this.#inWork = group;
      try {
        const places = await this.#chain.write(group.map(({ body }) => body));
        for (const [index, place] of places.entries()) group[index]?.resolve(place);
      } catch (error) {
        this.#fail([...group, ...this.#waiting], error);
        this.#waiting = [];
      }
    }
    this.#inWork = [];
    this.#work = undefined;
  }

  /** Resolves when the group is to leave. */
  async #gather(): Promise<void> {
    // Requests that end in the same turn of the event loop share a sync.
    await new Promise(setImmediate);
    const leftMs = this.#waitMs - (performance.now() - (this.#waiting[0]?.sinceMs ?? 0));
    if (leftMs <= 0 || this.#isClosed || !this.#isAnyNear()) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, leftMs);
      this.#letLeave = () => {
        clearTimeout(timer);
        setImmediate(resolve);
      };
    });
    this.#letLeave = undefined;
  }

  #isAnyNear(): boolean {
    const now = performance.now();
    for (const [work, since] of this.#near) {
      if (now - since < nearMaxMs) return true;
      this.#near.delete(work);
    }
    return false;
  }

  #fail(group: readonly Waiting[], error: unknown): void {
    const reason = reasonOf(error);
    const requests = group.filter(({ body }) => body.startsWith('"kind":"request"')).length;
    this.#outage = { since: new Date().toISOString(), reason, refused: requests };
    this.#log.error('the audit log cannot be written; refusing everything that must be audited', { reason });
    for (const one of group) one.reject(unwritable(reason));
    this.#tryAgainLater();
  }

  #tryAgainLater(): void {
    this.#retry = setTimeout(() => {
      void this.#tryAgain();
    }, retryMs).unref();
  }

  async #tryAgain(): Promise<void> {
    const outage = this.#outage;
    if (outage === undefined) return;
    try {
      await this.between(async (chain) => {
        // Requests refused while this record is written are not in its count, which is therefore a
        // lower bound.
        await chain.write([entryBody({ kind: 'outage', since: outage.since, reason: outage.reason, refused: outage.refused })]);
        this.#outage = undefined;
      });
    } catch {
      this.#tryAgainLater();
      return;
    }
    this.#log.warn('the audit log can be written again', { since: outage.since, refused: outage.refused });
    this.#recovered();
  }
}

const unwritten = 'the audit log cannot be written';

function unwritable(reason: string): Refusal {
  return new Refusal('STORE_FULL', { message: unwritten, cause: reason });
}

/** Refuses what must be recorded while nothing can be recorded: nothing was done. */
export class NotWritable extends Refusal {
  constructor(reason: string) {
    super('STORE_FULL', { message: unwritten, cause: reason });
    this.name = 'NotWritable';
  }
}
