import { resultCodes } from '../result-codes.ts';
import { headOf } from './line-offset.ts';

/** A record as it is written, whatever its kind. */
export type WrittenRecord = Readonly<Record<string, unknown>>;

/**
 * How a request or a command ended: with success; refused or failed, whatever the code; with one
 * result; or with one status of HTTP.
 */
export type OutcomeFilter = 'success' | 'refused' | { readonly major: number; readonly minor: number } | { readonly status: number };

/** Which records are wanted; a record must have all of it. */
export interface RecordFilter {
  /** Milliseconds since the epoch; `until` is exclusive. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  readonly client?: string | undefined;
  readonly tenant?: string | undefined;
  /** `keyReference.reference`. */
  readonly key?: string | undefined;
  /** The service's identifier of a request, or the caller's own. */
  readonly request?: string | undefined;
  readonly outcome?: OutcomeFilter | undefined;
}

/**
 * Parses an outcome as the log shows it: `success`, `refused`, `2/202` or `503`. Returns undefined
 * for any other text.
 */
export function outcomeFilter(text: string): OutcomeFilter | undefined {
  if (text === 'success' || text === 'refused') return text;
  const [, major, minor] = /^(\d)\/(\d{1,3})$/.exec(text) ?? [];
  if (major !== undefined) return { major: Number(major), minor: Number(minor) };
  return /^[45]\d\d$/.test(text) ? { status: Number(text) } : undefined;
}

/**
 * Returns a function that says, without parsing it, whether a line may be a wanted record: most lines
 * of a long log are told apart by their bytes.
 */
export function mayBeWanted({ since, until, client, tenant, key, request, outcome }: RecordFilter): (line: Buffer) => boolean {
  const members = [client, tenant, key, request].flatMap((text) => (text === undefined ? [] : [JSON.stringify(text)]));
  const texts = members.map((text) => Buffer.from(text));
  const ends = textsOf(outcome).map((text) => Buffer.from(text));
  const isTimed = since !== undefined || until !== undefined;
  return (line) =>
    texts.every((text) => line.includes(text)) &&
    (ends.length === 0 || ends.some((text) => line.includes(text))) &&
    (!isTimed || isInTime(line, since, until));
}

/** The line of each record with this outcome has one of these; empty if it may have any. */
function textsOf(outcome: OutcomeFilter | undefined): string[] {
  if (typeof outcome !== 'object') return [];
  if ('status' in outcome) return [`"status":${outcome.status}`];
  return [`"minor":${outcome.minor}`, ...(isOfOutages(outcome) ? ['"kind":"outage"'] : [])];
}

/** 2/243: requests of an outage of the log have one record together. */
function isOfOutages({ major, minor }: { readonly major: number; readonly minor: number }): boolean {
  return resultCodes.STORE_FULL.major === major && resultCodes.STORE_FULL.minor === minor;
}

/** Returns the record of a line; undefined if the line has none. */
export function recordIn(line: Buffer): WrittenRecord | undefined {
  try {
    const value: unknown = JSON.parse(line.toString('utf8'));
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is WrittenRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether a record is wanted. `line`: the line that has it. */
export function isWanted(
  line: Buffer,
  record: WrittenRecord,
  { since, until, client, tenant, key, request, outcome }: RecordFilter,
): boolean {
  return (
    isInTime(line, since, until) &&
    (client === undefined || record['client'] === client) &&
    (tenant === undefined || record['tenant'] === tenant) &&
    (key === undefined || record['key'] === key) &&
    (request === undefined || record['request'] === request || record['requestID'] === request) &&
    (outcome === undefined || endedWith(record, outcome))
  );
}

function isInTime(line: Buffer, since: number | undefined, until: number | undefined): boolean {
  if (since === undefined && until === undefined) return true;
  const time = headOf(line)?.time ?? Number.NaN;
  return (since === undefined || time >= since) && (until === undefined || time < until);
}

const refusals: ReadonlySet<unknown> = new Set(['refused-clients', 'wrong-secrets', 'outage']);

function endedWith({ kind, major, minor, status, fault }: WrittenRecord, outcome: OutcomeFilter): boolean {
  const isRefused = refusals.has(kind) || status !== undefined || fault !== undefined || (major !== undefined && major !== 0);
  if (outcome === 'refused') return isRefused;
  if (outcome === 'success') return !isRefused && (major === 0 || kind === 'administration');
  if ('status' in outcome) return status === outcome.status;
  return (major === outcome.major && minor === outcome.minor) || (kind === 'outage' && isOfOutages(outcome));
}
