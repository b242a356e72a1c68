import type { AuditFile } from './file-names.ts';
import { readLines } from './read-lines.ts';
import { isWanted, mayBeWanted, recordIn, type RecordFilter, type WrittenRecord } from './record-filter.ts';

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
 * Finds records in files of any size, and keeps the newest `most` of them. It reads all of the log,
 * since the clock may have been set back, and verifies nothing.
 * @param progress receives the number of bytes read
 */
export async function findRecords(
  files: readonly AuditFile[],
  filter: RecordFilter,
  { most, progress }: { readonly most: number; readonly progress: (bytes: number) => void },
): Promise<FoundRecords> {
  const maybe = mayBeWanted(filter);
  const malformed: string[] = [];
  const newest: WrittenRecord[] = [];
  let count = 0;
  let bytesRead = 0;
  for (const file of files) {
    let number = 0;
    for await (const { bytes, isWhole } of readLines(file.path)) {
      number += 1;
      bytesRead += bytes.length + 1;
      if (number % 4096 === 0) progress(bytesRead);
      // The service may be writing the last line of the newest file.
      if (!isWhole && file === files.at(-1)) break;
      if (!maybe(bytes)) continue;
      const record = isWhole ? recordIn(bytes) : undefined;
      if (record === undefined) {
        if (malformed.length < malformedMax) malformed.push(`${file.name}, line ${number}: it is not a record`);
        continue;
      }
      if (!isWanted(bytes, record, filter)) continue;
      newest[count % most] = record;
      count += 1;
    }
  }
  const oldest = count > most ? count % most : 0;
  return { records: [...newest.slice(oldest), ...newest.slice(0, oldest)], count, malformed };
}
