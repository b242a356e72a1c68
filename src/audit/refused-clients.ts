import type { RefusedEntry } from './record.ts';

/** What a record says of a registered client. */
export type RefusedClient = Required<Pick<RefusedEntry, 'client' | 'tenant' | 'spki'>>;

/**
 * Counts of refused clients by reason, and by client where it is registered, so that strangers
 * cannot fill the disk: one record a minute for each.
 */
export class RefusedClients {
  readonly #counts = new Map<string, RefusedEntry>();

  /** Counts a refusal. `reason` is one of a few fixed texts, never what the client sent. */
  add(reason: string, address: string | undefined, client?: RefusedClient): void {
    this.#add({ kind: 'refused-clients', reason, count: 1, since: new Date().toISOString(), address, ...client });
  }

  /** Returns and resets the counts since the last call. */
  take(): RefusedEntry[] {
    const entries = [...this.#counts.values()];
    this.#counts.clear();
    return entries;
  }

  /** Puts back an entry that could not be written, to be part of the next one. */
  putBack(entry: RefusedEntry): void {
    this.#add(entry);
  }

  /** The earlier of two entries keeps its time and its address. */
  #add(entry: RefusedEntry): void {
    const name = `${entry.spki ?? ''} ${entry.reason}`;
    const known = this.#counts.get(name);
    if (known === undefined) {
      this.#counts.set(name, entry);
      return;
    }
    const { since, address } = known.since <= entry.since ? known : entry;
    this.#counts.set(name, { ...known, since, address, count: known.count + entry.count });
  }
}
