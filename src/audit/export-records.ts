import type { AuditFile } from './file-names.ts';
import { csvHeading, csvLine } from './csv.ts';
import type { RecordFilter } from './record-filter.ts';
import { wantedRecords } from './wanted-records.ts';

export type RecordFormat = 'csv' | 'jsonl';

export interface ExportSummary {
  readonly records: number;
  /** Lines that are no records, as `file, line: reason`. */
  readonly malformed: readonly string[];
}

const malformedMax = 1000;
/** Length from which text is written. */
const writtenLength = 1 << 16;

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
  let waiting = format === 'csv' ? csvHeading : '';
  const reports = {
    ...{ progress, parsesAll: true },
    malformed: (line: string): void => {
      if (malformed.length < malformedMax) malformed.push(line);
    },
  };
  for await (const { record, line } of wantedRecords(files, filter, reports)) {
    records += 1;
    waiting += format === 'csv' ? csvLine(record) : `${line.toString('utf8')}\n`;
    if (waiting.length < writtenLength) continue;
    await write(waiting);
    waiting = '';
  }
  await write(waiting);
  return { records, malformed };
}
