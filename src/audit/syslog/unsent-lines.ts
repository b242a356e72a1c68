import { stat } from 'node:fs/promises';
import { auditFiles } from '../file-names.ts';
import { headOf, type LineHead } from '../line-offset.ts';
import { readLines } from '../read-lines.ts';
import type { Position } from './position.ts';

/** Enough for a thousand records: reading them takes a few milliseconds. */
const batchBytes = 256 * 1024;

export interface UnsentLine {
  readonly line: Buffer;
  readonly head: LineHead;
}

export interface Unsent {
  readonly lines: readonly UnsentLine[];
  /** Position after them. */
  readonly after: Position;
}

/**
 * Reads the next lines of the log, some at a time.
 * @param durable number of the last record that is on disk: a later line may still be taken back
 */
export async function unsentLines(directory: string, from: Position, durable: number): Promise<Unsent> {
  const files = await auditFiles(directory);
  const current = files.find(({ number }) => number >= from.file);
  if (current === undefined) return { lines: [], after: from };
  const lines: UnsentLine[] = [];
  let after: Position = current.number === from.file ? from : { ...from, file: current.number, offset: 0 };
  let bytesRead = 0;
  let isAtEnd = true;
  const hasMore = (await stat(current.path)).size > after.offset;
  for await (const { bytes, isWhole, end } of hasMore ? readLines(current.path, after.offset) : []) {
    const head = isWhole ? headOf(bytes) : undefined;
    if (head !== undefined && head.n > durable) isAtEnd = false;
    if (head === undefined || !isAtEnd) break;
    lines.push({ line: Buffer.from(bytes), head });
    after = { file: current.number, offset: end, record: head.n };
    bytesRead += bytes.length;
    if (bytesRead >= batchBytes) break;
  }
  const next = files.find(({ number }) => number > current.number);
  // The listing is older than the lines: a file with a successor gets no more of them. But the number
  // of the last record may be older than the listing.
  if (lines.length === 0 && isAtEnd && next !== undefined) return { lines, after: { ...after, file: next.number, offset: 0 } };
  return { lines, after };
}

/** Returns the end of the log, at which forwarding begins for the first time. */
export async function endOfLog(directory: string, record: number): Promise<Position> {
  const newest = (await auditFiles(directory)).at(-1);
  return newest === undefined ? { file: 0, offset: 0, record } : { file: newest.number, offset: (await stat(newest.path)).size, record };
}
