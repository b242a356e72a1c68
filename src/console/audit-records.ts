import { lastLines } from '../audit/last-lines.ts';
import type { RecordFilter } from '../audit/record-filter.ts';
import { searchBack } from '../audit/search-back.ts';
import { Problem } from '../http/problem.ts';
import type { AuditRecords } from './page/answers.ts';

const recordsMax = 500;
/** Bounds of one search: what follows is for the next one. */
const searchBounds = { most: recordsMax, maxBytes: 256 * 1024 * 1024, maxMs: 2000 } as const;

let isSearching = false;

/**
 * Returns the last records of the audit log, or those that are searched for, the newest first.
 * @throws {Problem} 429 while another search runs: it shares the event loop with the requests
 */
export async function auditRecords(
  { enabled, directory }: { readonly enabled: boolean; readonly directory: string },
  query: (RecordFilter & { readonly before: number | undefined }) | undefined,
): Promise<AuditRecords> {
  if (!enabled) return { records: [] };
  if (query === undefined) return { records: (await lastLines(directory, recordsMax)).map(recordOf) };
  if (isSearching)
    throw new Problem(429, 'another search of the audit log runs; try again in a moment', { headers: { 'Retry-After': '2' } });
  isSearching = true;
  try {
    const { records, continueBefore } = await searchBack(directory, { ...query, ...searchBounds });
    const found = records.map((record) => ({ ...record }));
    return continueBefore === undefined ? { records: found } : { records: found, next: continueBefore };
  } finally {
    isSearching = false;
  }
}

/** A damaged line is shown as it is. */
function recordOf(line: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : { damaged: line };
  } catch {
    return { damaged: line };
  }
}
