import type { AuditFile } from './file-names.ts';
import { headOf } from './line-offset.ts';
import { readLines } from './read-lines.ts';
import { csvHeading, csvLine } from './csv.ts';

export type RecordFormat = 'csv' | 'jsonl';

/** Which records to export. */
export interface RecordFilter {
  /** Milliseconds since the epoch; `until` is exclusive. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  readonly client?: string | undefined;
  readonly tenant?: string | undefined;
}

export interface ExportSummary {
  readonly records: number;
  /** Lines that are no records, as `file, line: reason`. */
  readonly malformed: readonly string[];
}

const malformedMax = 1000;

/**
 * Writes records as text, in order. JSON lines are the exact lines of the log. It verifies nothing.
 * @param write receives text of many records at a time
 * @param progress receives the number of bytes read
 */
export async function exportRecords(
  files: readonly AuditFile[],
  format: RecordFormat,
  filter: RecordFilter,
  { write, progress }: { readonly write: (text: string) => Promise<void>; readonly progress: (bytes: number) => void },
): Promise<ExportSummary> {
  const malformed: string[] = [];
  let records = 0;
  let bytesRead = 0;
  let waiting = format === 'csv' ? csvHeading : '';
  for (const file of files) {
    let number = 0;
    for await (const { bytes, isWhole } of readLines(file.path)) {
      number += 1;
      bytesRead += bytes.length + 1;
      // The service may be writing the last line of the newest file.
      if (!isWhole && file === files.at(-1)) break;
      const record = isWhole ? recordOf(bytes) : undefined;
      if (record === undefined && malformed.length < malformedMax) malformed.push(`${file.name}, line ${number}: it is not a record`);
      if (record === undefined || !isWanted(bytes, record, filter)) continue;
      records += 1;
      waiting += format === 'csv' ? csvLine(record) : `${bytes.toString('utf8')}\n`;
      if (waiting.length < 1 << 16) continue;
      await write(waiting);
      waiting = '';
      progress(bytesRead);
    }
  }
  await write(waiting);
  return { records, malformed };
}

function recordOf(line: Buffer): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(line.toString('utf8'));
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isWanted(line: Buffer, record: Readonly<Record<string, unknown>>, { since, until, client, tenant }: RecordFilter): boolean {
  const time = headOf(line)?.time ?? Number.NaN;
  if (since !== undefined && !(time >= since)) return false;
  if (until !== undefined && !(time < until)) return false;
  return (client === undefined || record['client'] === client) && (tenant === undefined || record['tenant'] === tenant);
}
