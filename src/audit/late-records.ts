import type { Logger } from '../telemetry/log.ts';
import { reasonOf } from '../telemetry/reason-of.ts';
import type { GroupWriter } from './group-writer.ts';
import { onlyUses, requestsInChain, type Outbox } from './outbox.ts';
import type { AdministrationEntry, FilePlace, RequestEntry } from './record.ts';

/** Logged with the uses of the token that have no record now. */
export const recordLost = 'an audit record is lost: the service is shutting down before it could be written';

/** Record of a request or of an operator's command. */
export type WorkEntry = RequestEntry | AdministrationEntry;

/**
 * Records that a crash or a full disk prevented, kept until they are written. Those of commits are
 * in the state store too (the outbox); those of other uses of the token are in memory only.
 */
export class LateRecords {
  readonly #outbox: Pick<Outbox, 'settled' | 'done'> | undefined;
  readonly #writer: Pick<GroupWriter, 'writable' | 'append'>;
  readonly #log: Logger;
  /**
   * By request. Whether an entry was committed may be unknown, and its row may appear later: an
   * entry without a row is kept until the process ends.
   */
  readonly #committed = new Map<string, WorkEntry>();
  #inMemory: WorkEntry[] = [];
  #writing: Promise<void> | undefined;
  #hasStopped = false;

  constructor(outbox: Pick<Outbox, 'settled' | 'done'> | undefined, writer: Pick<GroupWriter, 'writable' | 'append'>, log: Logger) {
    this.#outbox = outbox;
    this.#writer = writer;
    this.#log = log;
  }

  /** Whether the request may have a commit whose record is not written yet. */
  lacks(request: string): boolean {
    return this.#committed.has(request);
  }

  /** Keeps a record that could not be written. `mayBeCommitted`: the outbox may hold it too. */
  keep(entry: WorkEntry, mayBeCommitted: boolean): void {
    if (mayBeCommitted) this.#committed.set(entry.request, entry);
    else this.#keepUses(entry);
  }

  /**
   * Finds, at the start and before any request runs, the commits whose record a crash or a full
   * disk prevented.
   */
  async find(directory: string, place: FilePlace): Promise<void> {
    const settled = (await this.#outbox?.settled()) ?? [];
    if (settled.length === 0) return;
    const inChain = await requestsInChain(directory, settled);
    for (const { entry, ids } of settled) {
      if (inChain.has(entry.request)) this.#outbox?.done(ids, place);
      else this.keep(entry, true);
    }
  }

  /** Writes the missing records. Those that cannot be written now stay for the next call. */
  async write(): Promise<void> {
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined;
    });
    return this.#writing;
  }

  /** Writes the missing records for the last time. The next start finds those in the outbox. */
  async stop(): Promise<void> {
    await this.#writing;
    await this.write();
    this.#hasStopped = true;
    for (const entry of this.#inMemory) this.#lost(entry);
  }

  async #writeAll(): Promise<void> {
    if (!this.#writer.writable) return;
    try {
      await this.#writeFromMemory();
      await this.#writeCommitted();
      await this.#writeFromMemory();
    } catch (error) {
      const requests = this.#inMemory.length + this.#committed.size;
      this.#log.error('audit records cannot be written yet', { requests, reason: reasonOf(error) });
    }
  }

  async #writeFromMemory(): Promise<void> {
    for (let entry = this.#inMemory[0]; entry !== undefined; entry = this.#inMemory[0]) {
      await this.#writer.append(entry);
      this.#inMemory.shift();
    }
  }

  async #writeCommitted(): Promise<void> {
    if (this.#outbox === undefined || this.#committed.size === 0) return;
    const unseen = new Map(this.#committed);
    for (const { entry, ids } of await this.#outbox.settled()) {
      unseen.delete(entry.request);
      const kept = this.#committed.get(entry.request);
      if (kept === undefined) continue;
      const place = await this.#writer.append({ ...kept, ...entry, uses: kept.uses });
      this.#committed.delete(entry.request);
      this.#outbox.done(ids, place);
    }
    for (const [request, entry] of unseen) {
      this.#keepUses(entry);
      this.#committed.set(request, { ...entry, uses: undefined });
    }
  }

  #keepUses(entry: WorkEntry): void {
    if (entry.uses === undefined) return;
    if (this.#hasStopped) this.#lost(entry);
    else this.#inMemory.push({ ...entry, replayed: onlyUses });
  }

  #lost({ request, uses }: WorkEntry): void {
    this.#log.error(recordLost, { request, uses });
  }
}
