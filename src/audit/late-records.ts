import type { Logger } from '../telemetry/log.ts';
import type { GroupWriter } from './group-writer.ts';
import { onlyUses, requestsInChain, type Outbox } from './outbox.ts';
import type { AdministrationEntry, FilePlace, RequestEntry } from './record.ts';

/** A record of work: of a request, or of an operator's command. */
export type WorkEntry = RequestEntry | AdministrationEntry;

/**
 * Records that a crash or a full disk prevented, until they are written: of commits the state store has them (the outbox), of what the token did besides the
 * memory alone.
 */
export class LateRecords {
  readonly #outbox: Pick<Outbox, 'settled' | 'done'> | undefined;
  readonly #writer: Pick<GroupWriter, 'writable' | 'append'>;
  readonly #log: Logger;
  /** By request. A commit that is in doubt may be seen later, so one without a row stays for as long as the process lives. */
  readonly #committed = new Map<string, WorkEntry>();
  #inMemory: WorkEntry[] = [];
  #writing: Promise<void> | undefined;

  constructor(outbox: Pick<Outbox, 'settled' | 'done'> | undefined, writer: Pick<GroupWriter, 'writable' | 'append'>, log: Logger) {
    this.#outbox = outbox;
    this.#writer = writer;
    this.#log = log;
  }

  /** Whether a record is missing that a commit of the request has promised. */
  lacks(request: string): boolean {
    return this.#committed.has(request);
  }

  /** The disk did not take the record of the work. `mayBeCommitted`: the outbox may have what it committed. */
  keep(entry: WorkEntry, mayBeCommitted: boolean): void {
    if (mayBeCommitted) this.#committed.set(entry.request, entry);
    else this.#keepUses(entry);
  }

  /** At a start nothing is on its way: every commit whose request is not in the chain lost its record to a crash or a full disk. */
  async find(directory: string, place: FilePlace): Promise<void> {
    const settled = (await this.#outbox?.settled()) ?? [];
    if (settled.length === 0) return;
    const inChain = await requestsInChain(directory, settled);
    for (const { entry, ids } of settled) {
      if (inChain.has(entry.request)) this.#outbox?.done(ids, place);
      else this.keep(entry, true);
    }
  }

  /** Writes what is missing. What cannot be written now is tried again with the next call. */
  async write(): Promise<void> {
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined;
    });
    return this.#writing;
  }

  /** Writes what is missing for the last time. What the outbox has is found by the next start. */
  async stop(): Promise<void> {
    await this.#writing;
    await this.write();
    for (const { request, uses } of this.#inMemory)
      this.#log.error('an audit record is lost with the end of the service', { request, uses });
  }

  async #writeAll(): Promise<void> {
    if (!this.#writer.writable) return;
    try {
      await this.#writeFromMemory();
      await this.#writeCommitted();
      await this.#writeFromMemory();
    } catch (error) {
      const requests = this.#inMemory.length + this.#committed.size;
      this.#log.error('audit records wait', { requests, reason: error instanceof Error ? error.message : String(error) });
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
    if (entry.uses !== undefined) this.#inMemory.push({ ...entry, replayed: onlyUses });
  }
}
