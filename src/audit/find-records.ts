import type { AuditFile } from './file-names.ts';
import type { RecordFilter, WrittenRecord } from './record-filter.ts';
import { wantedRecords } from './wanted-records.ts';

export interface FoundRecords {
  /** The newest of them, in the order of the log. */
  readonly records: readonly WrittenRecord[];
  /** Number of all records that are wanted. */
  readonly count: number;
  /** Lines that may be wanted and are no records, as `file, line: reason`. */
  readonly malformed: readonly string[];
}

const malformedMax = 100;

/**
 * Finds records in files of any size, and keeps the newest `most` of them. It verifies nothing.
 * @param progress receives the number of bytes read
 */
export async function findRecords(
  files: readonly AuditFile[],
  filter: RecordFilter,
  { most, progress }: { readonly most: number; readonly progress: (bytes: number) => void },
): Promise<FoundRecords> {
  const malformed: string[] = [];
  const newest: WrittenRecord[] = [];
  let count = 0;
  const reports = {
    ...{ progress, parsesAll: false },
    malformed: (line: string): void => {
      if (malformed.length < malformedMax) malformed.push(line);
    },
  };
  for await (const { record } of wantedRecords(files, filter, reports)) {
    newest[count % most] = record;
    count += 1;
  }
  const oldest = count > most ? count % most : 0;
  return { records: [...newest.slice(oldest), ...newest.slice(0, oldest)], count, malformed };
}
