import type { AuditFile } from './file-names.ts';
import { maxLineBytes, readLines } from './read-lines.ts';
import { isWanted, mayBeWanted, recordIn, type RecordFilter, type WrittenRecord } from './record-filter.ts';

/** A wanted record, with its line as it is in the file. */
export interface WantedRecord {
  readonly record: WrittenRecord;
  /** Without its line feed. */
  readonly line: Buffer;
}

/** How a walk through the files reports. */
export interface WalkReports {
  /** Receives the number of bytes read, now and then. */
  readonly progress: (bytes: number) => void;
  /** Receives each line that is no record, as `file, line: reason`. */
  readonly malformed: (line: string) => void;
  /**
   * Whether every line is parsed, so that each which is no record is reported; otherwise only one
   * that may be wanted is.
   */
  readonly parsesAll: boolean;
}

const linesOfProgress = 4096;

/**
 * Yields the wanted records of files of any size, in the order of the log. It reads all of them,
 * since the clock may have been set back, and verifies nothing.
 */
export async function* wantedRecords(
  files: readonly AuditFile[],
  filter: RecordFilter,
  { progress, malformed, parsesAll }: WalkReports,
): AsyncGenerator<WantedRecord> {
  const maybe = parsesAll ? (): boolean => true : mayBeWanted(filter);
  let bytesRead = 0;
  for (const file of files) {
    let number = 0;
    for await (const { bytes, isWhole } of readLines(file.path)) {
      number += 1;
      bytesRead += bytes.length + 1;
      if (number % linesOfProgress === 0) progress(bytesRead);
      // The service may be writing the last line of the newest file.
      if (!isWhole && file === files.at(-1) && bytes.length <= maxLineBytes) break;
      if (!maybe(bytes)) continue;
      const record = isWhole ? recordIn(bytes) : undefined;
      if (record === undefined) malformed(`${file.name}, line ${number}: it is not a record`);
      else if (isWanted(bytes, record, filter)) yield { record, line: bytes };
    }
  }
}
