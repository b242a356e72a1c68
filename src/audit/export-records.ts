import type { AuditFile } from './file-names.ts';
import { readLines } from './read-lines.ts';
import { csvHeading, csvLine } from './csv.ts';
import { isWanted, recordIn, type RecordFilter } from './record-filter.ts';

export type RecordFormat = 'csv' | 'jsonl';

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
      const record = isWhole ? recordIn(bytes) : undefined;
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
