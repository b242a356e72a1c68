import type { RefusedEntry } from './record.ts';

interface Count {
  count: number;
  readonly since: string;
  readonly address: string | undefined;
}

/** Refused clients added up by reason, so that strangers cannot fill the disk: one record a minute and reason. */
export class RefusedClients {
  readonly #counts = new Map<string, Count>();

  /** `reason` is one of a few texts of this service, never what the client sent. */
  add(reason: string, address: string | undefined, count = 1): void {
    const known = this.#counts.get(reason);
    if (known === undefined) this.#counts.set(reason, { count, since: new Date().toISOString(), address });
    else known.count += count;
  }

  /** What has come since the last time. */
  take(): RefusedEntry[] {
    const entries = [...this.#counts].map(([reason, count]) => ({ kind: 'refused-clients' as const, reason, ...count }));
    this.#counts.clear();
    return entries;
  }

  /** What could not be written is told with the next. */
  putBack({ reason, count, since, address }: RefusedEntry): void {
    const later = this.#counts.get(reason);
    this.#counts.set(reason, { count: count + (later?.count ?? 0), since, address });
  }
}
