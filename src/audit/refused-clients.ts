import type { RefusedEntry } from './record.ts';

interface Count {
  count: number;
  readonly since: string;
  readonly address: string | undefined;
}

/**
 * Counts of refused clients by reason, so that strangers cannot fill the disk: one record a minute
 * for each reason.
 */
export class RefusedClients {
  readonly #counts = new Map<string, Count>();

  /** Counts a refusal. `reason` is one of a few fixed texts, never what the client sent. */
  add(reason: string, address: string | undefined, count = 1): void {
    const known = this.#counts.get(reason);
    if (known === undefined) this.#counts.set(reason, { count, since: new Date().toISOString(), address });
    else known.count += count;
  }

  /** Returns and resets the counts since the last call. */
  take(): RefusedEntry[] {
    const entries = [...this.#counts].map(([reason, count]) => ({ kind: 'refused-clients' as const, reason, ...count }));
    this.#counts.clear();
    return entries;
  }

  /** Puts back an entry that could not be written, to be part of the next one. */
  putBack({ reason, count, since, address }: RefusedEntry): void {
    const later = this.#counts.get(reason);
    this.#counts.set(reason, { count: count + (later?.count ?? 0), since, address });
  }
}
