import { z } from 'zod';
import { stat } from 'node:fs/promises';
import { Effect } from '../../audit/effect.ts';
import { auditFiles } from '../../audit/file-names.ts';
import { findRecords } from '../../audit/find-records.ts';
import type { WrittenRecord } from '../../audit/record-filter.ts';
import { loadConfig } from '../../config/config.ts';
import { reasonOf } from '../../telemetry/reason-of.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import type { Outcome } from '../outcome.ts';
import { showProgress } from '../progress.ts';
import { fields, table } from '../table.ts';
import { filterOf, FilterOptions } from './filter-options.ts';

export const FindOptions = z.object({
  request: z.string().optional(),
  ...FilterOptions,
  lines: z.string(),
  directory: z.string().optional(),
});
export type FindOptions = z.output<typeof FindOptions>;

/** `audit find`: the newest records that the options choose. It verifies nothing. */
export async function auditFind(configPath: string, { lines, directory: given, ...options }: FindOptions): Promise<Outcome> {
  if (!/^[1-9]\d{0,4}$/.test(lines)) throw new CommandError(exitCodes.usage, '--lines takes a number from 1 to 99999');
  const filter = filterOf(options);
  if (Object.values(filter).every((wanted) => wanted === undefined))
    throw new CommandError(exitCodes.usage, 'give the identifier of a request, or at least one option that chooses records');
  const directory = given ?? loadConfig(configPath).audit.directory;
  const { records, count, malformed } = await found(directory, filter, Number(lines));
  const [only] = records;
  return {
    json: records,
    text:
      only === undefined ? 'No record was found.\n' : records.length === 1 ? fields(detailsOf(only)) : table(headings, records.map(rowOf)),
    faults: malformed,
    notes: count > records.length ? [`the newest ${records.length} of ${count} records; --lines prints more`] : [],
  };
}

async function found(directory: string, filter: ReturnType<typeof filterOf>, most: number): ReturnType<typeof findRecords> {
  try {
    const files = await auditFiles(directory);
    const sizes = await Promise.all(files.map(async ({ path }) => (await stat(path)).size));
    const progress = showProgress({ work: 'audit find', unit: 'bytes', total: sizes.reduce((sum, size) => sum + size, 0) });
    return await findRecords(files, filter, { most, progress: progress.at }).finally(progress.end);
  } catch (error) {
    throw new CommandError(exitCodes.refused, `${directory} cannot be searched: ${reasonOf(error)}`);
  }
}

const headings = ['TIME', 'RECORD', 'REQUEST', 'WHO', 'WHAT', 'OUTCOME', 'REASON'];

function rowOf(record: WrittenRecord): string[] {
  const { time, n, request } = record;
  // A refusal may have changed something too, such as the count of attempts.
  const reason = [reasonIn(record), ...(record['major'] === 0 ? [] : [effectsIn(record)])].filter((part) => part !== '').join('; ');
  return [text(time), text(n), text(request), whoOf(record), whatOf(record), outcomeOf(record), reason].map((cell) =>
    cell === '' ? '-' : cell,
  );
}

/** All of one record, for people. */
function detailsOf(record: WrittenRecord): (readonly [string, string])[] {
  const { time, n, request, requestID, address, key } = record;
  const lines = [
    ...([
      ['time', text(time)],
      ['record', text(n)],
      ['request', text(request)],
      ['requestID', text(requestID)],
    ] as const),
    ...([
      ['who', whoOf(record)],
      ['address', text(address)],
      ['what', whatOf(record)],
      ['key', text(key)],
    ] as const),
    ...([
      ['outcome', outcomeOf(record)],
      ['reason', reasonIn(record)],
      ['effects', effectsIn(record)],
    ] as const),
  ];
  return lines.filter(([, value]) => value !== '');
}

function whoOf({ client, tenant, uid, via }: WrittenRecord): string {
  if (uid !== undefined) return via === undefined ? `user ${text(uid)}` : `user ${text(uid)}, ${text(via)}`;
  return tenant === undefined ? text(client) : `${text(client)}@${text(tenant)}`;
}

function whatOf({ operation, command, kind }: WrittenRecord): string {
  return text(operation ?? command ?? kind);
}

function outcomeOf({ kind, major, minor, status, fault, count, refused, repeated, replayed }: WrittenRecord): string {
  const again = repeated === true ? ' (repeated)' : '';
  if (status !== undefined) return `HTTP ${text(status)}${again}`;
  if (major !== undefined) return `${text(major)}/${text(minor)}${again}`;
  if (replayed !== undefined) return 'recorded later';
  if (kind === 'administration') return fault === undefined ? 'done' : 'not done';
  if (kind === 'outage') return `${text(refused)} refused`;
  return count === undefined ? '' : `${text(count)} times`;
}

function reasonIn({ reason, fault, tampered, replayed, gap }: WrittenRecord): string {
  return [reason, fault, tampered, replayed, gap]
    .map(text)
    .filter((one) => one !== '')
    .join('; ');
}

/** What was committed to the state store. */
function effectsIn({ effects }: WrittenRecord): string {
  const { data = [] } = z.array(Effect.pick({ effect: true })).safeParse(effects);
  return data.map(({ effect }) => effect).join('; ');
}

function text(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? '' : JSON.stringify(value);
}
