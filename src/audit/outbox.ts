import { z } from 'zod';
import type { StateStore } from '../state/state-store.ts';
import { step } from '../state/step.ts';
import type { OutboxRecord } from './audited-request.ts';
import { auditFiles } from './file-names.ts';
import { headOf, lastLineWith } from './line-offset.ts';
import { readLines } from './read-lines.ts';
import type { AdministrationEntry, FilePlace, RequestEntry } from './record.ts';

/** Value of `replayed` in a record of uses of the token without a commit. */
export const onlyUses = 'no commit; the token was used';

/** Far more than can be pending at once. */
const maxRows = 100_000;
const deletedAtOnce = 500;
/** Clocks may be adjusted between a commit and its record. */
const clockSlackMs = 3_600_000;

/** A request, or an operator's command, whose settlement is in the state store. */
export interface Settled {
  readonly entry: RequestEntry | AdministrationEntry;
  readonly ids: readonly string[];
  /** Milliseconds since epoch. */
  readonly since: number;
}

/** Audit records that the state store holds until they are in the chain. */
export class Outbox {
  readonly #store: StateStore;
  readonly #log: string;
  #done: string[] = [];
  /** Place of the last record that is done. */
  #upTo: FilePlace | undefined;
  #sweeping: Promise<void> | undefined;

  constructor(store: StateStore, log: string) {
    this.#store = store;
    this.#log = log;
  }

  /** Returns the settlements of requests whose own record may be missing. */
  async settled(): Promise<Settled[]> {
    const rows = await this.#store.run('listAuditRecords', { limit: maxRows, idPrefix: `${this.#log}:` });
    const requests = Map.groupBy(rows, ({ id }) => id.split(':')[1] ?? '');
    return [...requests.values()].map((group) => {
      // Written by `AuditedRequest.settlement`, or by `administrationStep`, which gives the kind
      // too.
      const records = group.map(({ record }) => JSON.parse(record) as OutboxRecord);
      const { effect: _effect, change: _change, ...last } = records.at(-1) ?? {};
      const effects = records.map(({ effect, change }) => ({ effect, change }));
      const replayed = records.map(({ effect }) => effect).join('; ');
      return {
        entry: { kind: 'request', ...last, effects, replayed } as Settled['entry'],
        ids: group.map(({ id }) => id),
        since: Math.min(...group.map(({ created_at: createdAt }) => createdAt)),
      };
    });
  }

  /** Marks records as written to the chain, at `place` or before: the next `sweep` deletes them. */
  done(ids: readonly string[], place: FilePlace): void {
    if (ids.length === 0) return;
    this.#done.push(...ids);
    if (place.n > (this.#upTo?.n ?? 0)) this.#upTo = place;
  }

  /**
   * Deletes the records that are done. One sweep at a time: two would delete the same records and
   * forget others.
   */
  async sweep(): Promise<void> {
    this.#sweeping ??= this.#deleteDone().finally(() => {
      this.#sweeping = undefined;
    });
    return this.#sweeping;
  }

  /**
   * The commit that deletes outbox records also updates the store's place in the log: the store has
   * the changes of all records up to that place, and for later ones the outbox lists what was
   * committed. So a store that is older than the log is recognised by a record of which it has
   * nothing.
   */
  async #deleteDone(): Promise<void> {
    while (this.#done.length > 0 && this.#upTo !== undefined) {
      const ids = this.#done.slice(0, deletedAtOnce);
      const { n: records, hash, file } = this.#upTo;
      await this.#store.commit([step('keepAuditHead', { log: this.#log, records, hash, file }), step('deleteAuditRecords', ids)]);
      this.#done = this.#done.slice(ids.length);
    }
  }
}

/**
 * Returns the requests that have a record in the chain. Reads the end of the log, back to the time
 * of the oldest request.
 */
export async function requestsInChain(directory: string, settled: readonly Settled[]): Promise<Set<string>> {
  const wanted = new Set(settled.map(({ entry }) => entry.request));
  // The clock may have been ahead when a request was settled.
  const since = Math.min(Date.now(), ...settled.map((one) => one.since)) - clockSlackMs;
  const found = new Set<string>();
  for (const { path } of (await auditFiles(directory)).toReversed()) {
    const from = await lastLineWith(path, ({ time }) => time < since);
    let begins: number | undefined;
    for await (const { bytes, isWhole } of readLines(path, from)) {
      if (!isWhole) continue;
      begins ??= headOf(bytes)?.time;
      if (!namesOneOf(wanted, bytes)) continue;
      const record = recordIn(bytes);
      if (record?.request !== undefined && wanted.has(record.request) && record.replayed !== onlyUses) found.add(record.request);
    }
    if (begins !== undefined && begins < since) break;
  }
  return found;
}

/** Whether a line may be the record of one of the requests, without parsing its JSON. */
function namesOneOf(wanted: ReadonlySet<string>, line: Buffer): boolean {
  return [...line.toString('latin1').matchAll(/"request":"([^"]*)"/g)].some(([, request]) => request !== undefined && wanted.has(request));
}

const Recorded = z.looseObject({ request: z.string().optional(), replayed: z.string().optional() });

function recordIn(bytes: Buffer): z.output<typeof Recorded> | undefined {
  try {
    return Recorded.safeParse(JSON.parse(bytes.toString('utf8'))).data;
  } catch {
    return undefined;
  }
}
