import { z } from 'zod';
import type { AuditOutboxRow } from '../state/tables/audit.ts';
import type { StateStore } from '../state/state-store.ts';
import { step } from '../state/step.ts';
import { Effect } from './effect.ts';
import { auditFiles, type AuditFile } from './file-names.ts';
import type { CertificateDetails } from './record.ts';
import { headOf, lastLineWith } from './line-offset.ts';
import { readLines } from './read-lines.ts';
import { newestKey, StorePlaces, type StorePlace } from './store-place.ts';
import { errorCode } from '../telemetry/error-code.ts';

/** A change that was committed according to the log, but is missing in the state store. */
export interface Lacking {
  /** Number of the record that reports it. */
  readonly record: number;
  readonly time: string;
  /** The operation of a request, or an operator's command. */
  readonly by: string;
  /** The client that made the request; for a command, the client that it concerned. */
  readonly client: string | undefined;
  readonly tenant: string | undefined;
  readonly spki: string | undefined;
  readonly roles: readonly string[] | undefined;
  /** `keyReference.reference`. */
  readonly key: string | undefined;
  /** For `client add`: whether the key could have been revoked before. */
  readonly again?: boolean | undefined;
  /** For `client add`: the certificate, and the own CA that issued it, if one did. */
  readonly authority?: string | undefined;
  readonly certificate?: CertificateDetails | undefined;
  readonly usedToken: { readonly id: string; readonly until: number } | undefined;
  readonly effect: Effect;
}

/** Result of comparing a state store with its audit log. */
export interface StateComparison {
  readonly log: string;
  /**
   * Whether the state store lacks something that the log reports, or is not the store of the log.
   */
  readonly isOlder: boolean;
  /**
   * Names under which the records after `known` were written; a renamed log continues in the same
   * files.
   */
  readonly names: readonly string[];
  /** Whether the store does not know the key that signed the log. */
  readonly isForeign: boolean;
  /** Number of the record that the state store holds as its place in the log; 0: none. */
  readonly known: number;
  /** Number of the last record that the store is known to have held as its place. */
  readonly kept: number;
  /** Number of the last record; 0 if there is none. */
  readonly last: number;
  readonly lacking: readonly Lacking[];
  /** Records after `known` whose files are missing, so that their changes are unknown. */
  readonly absent: { readonly from: number; readonly to: number } | undefined;
  /** Number of requests after `known` recorded by a version that did not record their changes. */
  readonly untold: number;
}

const Line = z.looseObject({
  n: z.int(),
  time: z.string(),
  kind: z.string(),
  log: z.string().optional(),
  publicKey: z.string().optional(),
  checkpoint: z.looseObject({ log: z.string() }).optional(),
  kept: z.int().optional(),
  request: z.string().optional(),
  operation: z.string().optional(),
  command: z.string().optional(),
  client: z.string().optional(),
  tenant: z.string().optional(),
  spki: z.string().optional(),
  roles: z.array(z.string()).optional(),
  key: z.string().optional(),
  again: z.boolean().optional(),
  authority: z.string().optional(),
  certificate: z.object({ serialNumber: z.string(), subject: z.string(), notBefore: z.string(), notAfter: z.string() }).optional(),
  identityToken: z.looseObject({ used: z.object({ id: z.string(), until: z.number() }).optional() }).optional(),
  effects: z.array(Effect).optional(),
});
type Line = z.output<typeof Line>;

interface Changes {
  readonly record: number;
  readonly request: string;
  readonly lacking: readonly Lacking[];
}

/**
 * Compares a state store with the log in its directory, under whatever names it was written, starting
 * at the place in the log that the store holds: the store has all changes up to that place, and its
 * outbox lists the later changes that it has. So only records written since are read, and a crash is
 * never mistaken for an older store. It may be called while both are being written.
 * @param name the name of the log from now on
 * @throws {StoreUnavailable}
 * @throws {Error} if the log cannot be read
 */
export async function compareState(
  store: Pick<StateStore, 'run' | 'commit'>,
  { directory, name }: { readonly directory: string; readonly name: string },
): Promise<StateComparison> {
  const places = new StorePlaces({ directory, name });
  const log = new LogSince(await places.latest(await store.run('auditHeads')));
  const files = await filesOf(directory);
  await log.read(files);
  // Read after the log, since its records were committed before. All in one commit, since a record
  // leaves the outbox when the place advances past it.
  const outbox = step('listAuditRecords', { limit: Number.MAX_SAFE_INTEGER });
  const [heads, rows, keys] = await store.commit([step('auditHeads'), outbox, step('auditKeys')]);
  const place = await places.latest(heads);
  const { n: known } = place;
  const committed = commitsByRequest(rows);
  const lacking = log.changes
    .filter(({ record, request, lacking: told }) => record > known && (committed.get(request) ?? 0) < told.length)
    .flatMap((one) => one.lacking);
  // Two checkpoints by a version that did not record whether the store held the first: a store that
  // holds no place is not theirs.
  const isNew = known === 0 && log.untoldCheckpoints > 1;
  // A key is in the store before it signs anything.
  const signers = place.isCertain ? log.keysAfter(known) : [await newestKey(files)].flatMap((key) => key ?? []);
  const isForeign = signers.some((key) => !keys.some((row) => Buffer.from(row.public_key).toString('base64') === key));
  return {
    ...{ log: name, known, kept: log.kept, last: log.last, lacking, absent: log.absent, untold: log.untold },
    ...{ names: log.namesAfter(known), isForeign },
    isOlder: lacking.length > 0 || log.kept > known || isNew || isForeign,
  };
}

async function filesOf(directory: string): Promise<AuditFile[]> {
  return auditFiles(directory).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return [];
    throw error;
  });
}

/** Explains in a sentence why the service is not ready. */
export function ageInWords({ known, last, lacking, absent, isForeign }: StateComparison): string {
  const strange = isForeign ? ' and does not know the key that signed the log' : '';
  const place = known === 0 ? `it holds no place in the log${strange}` : `it is at record ${known}${strange}`;
  const lost = absent === undefined ? '' : `, and cannot be compared with records ${absent.from} to ${absent.to}, whose files are missing`;
  const lacks = lacking.length === 0 ? 'no change is missing' : `it lacks ${lacking.length} of the changes in the log`;
  return `the state store is older than the audit log: ${place}, and the log has ${last} records; ${lacks}${lost}`;
}

function commitsByRequest(rows: readonly AuditOutboxRow[]): ReadonlyMap<string, number> {
  const commits = new Map<string, number>();
  for (const { id } of rows) {
    const request = id.split(':')[1] ?? '';
    commits.set(request, (commits.get(request) ?? 0) + 1);
  }
  return commits;
}

/** The records of a directory after a place. */
class LogSince {
  readonly #place: StorePlace;
  readonly #keys: { readonly record: number; readonly key: string }[] = [];
  readonly #names = new Map<string, number>();
  readonly changes: Changes[] = [];
  kept = 0;
  last = 0;
  untold = 0;
  untoldCheckpoints = 0;
  absent: { from: number; to: number } | undefined;
  /** Requests since the last checkpoint; the next one shows which version wrote them. */
  #requests = 0;

  constructor(place: StorePlace) {
    this.#place = place;
  }

  async read(files: readonly AuditFile[]): Promise<void> {
    const { n: known, file: fromFile } = this.#place;
    for (const { number, path } of files) {
      if (number < fromFile) continue;
      const from = number === fromFile ? await lastLineWith(path, ({ n }) => n <= known) : 0;
      for await (const { bytes, isWhole } of readLines(path, from)) if (isWhole) this.#take(bytes);
    }
  }

  /** Keys (SPKI, base64) that open a file after a record. */
  keysAfter(known: number): string[] {
    return this.#keys.filter(({ record }) => record > known).map(({ key }) => key);
  }

  /** Names under which the log was written after a record. */
  namesAfter(known: number): string[] {
    return [...this.#names].filter(([, record]) => record > known).map(([name]) => name);
  }

  #take(bytes: Buffer): void {
    const n = headOf(bytes)?.n;
    // A malformed line breaks the chain, which verification reports.
    if (n === undefined) return;
    const { n: known } = this.#place;
    if (n <= known) {
      this.last = Math.max(this.last, n);
      return;
    }
    if (n > Math.max(this.last, known) + 1) this.absent ??= { from: Math.max(this.last, known) + 1, to: n - 1 };
    this.last = Math.max(this.last, n);
    const line = lineOf(bytes);
    if (line === undefined) return;
    const name = line.kind === 'open' ? line.log : line.checkpoint?.log;
    if (name !== undefined) this.#names.set(name, n);
    if (line.kind === 'open' && line.publicKey !== undefined) this.#keys.push({ record: n, key: line.publicKey });
    if (line.kind === 'checkpoint') this.#checkpoint(line);
    if (line.kind === 'request') this.#requests += 1;
    const { request, effects = [] } = line;
    if (request !== undefined && effects.length > 0) this.changes.push({ record: n, request, lacking: effects.map(lackingOf(line)) });
  }

  #checkpoint({ n, kept }: Line): void {
    if (kept === undefined) {
      this.untold += this.#requests;
      this.untoldCheckpoints += 1;
    } else if (kept < n) {
      // A later place is that of another log with this name, which shares the store.
      this.kept = Math.max(this.kept, kept);
    }
    this.#requests = 0;
  }
}

function lackingOf({ n, operation, command, identityToken, ...line }: Line): (effect: Effect) => Lacking {
  const { time, client, tenant, spki, roles, key, again, authority, certificate } = line;
  const said = { time, client, tenant, spki, roles, key, again, authority, certificate };
  return (effect) => ({ ...said, record: n, by: operation ?? command ?? 'unknown', usedToken: identityToken?.used, effect });
}

function lineOf(bytes: Buffer): Line | undefined {
  try {
    return Line.safeParse(JSON.parse(bytes.toString('utf8'))).data;
  } catch {
    return undefined;
  }
}
