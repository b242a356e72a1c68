import { open, type FileHandle } from 'node:fs/promises';
import { auditFiles } from './file-names.ts';
import { headOf, type LineHead } from './line-offset.ts';
import { isWanted, mayBeWanted, recordIn, type RecordFilter, type WrittenRecord } from './record-filter.ts';

const chunkBytes = 1 << 18;
/** Enough for the number and the time, with which every line begins. */
const headBytes = 64;
/** Far longer than any record; what is longer is passed over. */
const lineMaxBytes = 1 << 20;

/** A line that is no record. */
export interface DamagedLine {
  readonly damaged: string;
}

export interface Search extends RecordFilter {
  /** Only records with smaller numbers: where an earlier search ended. */
  readonly before?: number | undefined;
  /** Most records to return. */
  readonly most: number;
  /** Most bytes to read, and longest time to take, in milliseconds. */
  readonly maxBytes: number;
  readonly maxMs: number;
}

export interface SearchResult {
  /** The newest first. */
  readonly records: readonly (WrittenRecord | DamagedLine)[];
  /** Number of the last record that was looked at, if there may be older ones; else undefined. */
  readonly continueBefore: number | undefined;
}

/** What is known of a search while it runs. */
interface Progress {
  readonly records: (WrittenRecord | DamagedLine)[];
  bytes: number;
  readonly deadline: number;
  lastNumber: number | undefined;
}

/**
 * Searches the log from its end, within bounds of time and memory. Takes for granted that times
 * ascend: files that begin after `until` are passed over, and the search ends at the first record
 * before `since`.
 */
export async function searchBack(directory: string, search: Search): Promise<SearchResult> {
  const progress: Progress = { records: [], bytes: 0, deadline: performance.now() + search.maxMs, lastNumber: undefined };
  for (const { path, name } of (await auditFiles(directory)).toReversed()) {
    const handle = await open(path, 'r');
    try {
      const first = await firstHead(handle);
      if (first !== undefined && isAfter(first, search)) continue;
      const end = await searchFile(handle, search, progress);
      if (end === 'older') return { records: progress.records, continueBefore: undefined };
      if (end === 'bound') return { records: progress.records, continueBefore: progress.lastNumber };
      if (end === 'damaged') progress.records.push({ damaged: `${name}: its end has no record, and the rest of it was not searched` });
    } finally {
      await handle.close();
    }
  }
  return { records: progress.records, continueBefore: undefined };
}

async function firstHead(handle: FileHandle): Promise<LineHead | undefined> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(headBytes), 0, headBytes, 0);
  return headOf(buffer.subarray(0, bytesRead));
}

/** Whether this record, and all that follow it, are beyond the search. */
function isAfter({ n, time }: LineHead, { before, until }: Search): boolean {
  return (before !== undefined && n >= before) || (until !== undefined && time >= until);
}

/**
 * Returns `older` at a record before the time, `bound` where the search must end, and `damaged` where
 * it must and there has been no record from which another search could continue.
 */
async function searchFile(handle: FileHandle, search: Search, progress: Progress): Promise<'older' | 'bound' | 'damaged' | 'all'> {
  const maybe = mayBeWanted(search);
  let hasRecord = false;
  for await (const line of linesBack(handle, progress)) {
    const head = line === undefined ? undefined : headOf(line);
    hasRecord ||= head !== undefined;
    if (head !== undefined && isAfter(head, search)) continue;
    if (head !== undefined && search.since !== undefined && head.time < search.since) return 'older';
    const isFull = progress.records.length >= search.most;
    if (isFull || isOver(search, progress)) {
      if (isFull && head !== undefined) progress.lastNumber ??= head.n + 1;
      if (progress.lastNumber !== undefined) return 'bound';
      if (line === undefined && !hasRecord) return 'damaged';
      if (isFull) continue;
    }
    progress.lastNumber = head?.n ?? progress.lastNumber;
    if (line === undefined || !maybe(line)) continue;
    const record = recordIn(line);
    if (record !== undefined) {
      if (isWanted(line, record, search)) progress.records.push(record);
      // An earlier search has shown what is after the first record of this one.
    } else if (search.before === undefined || progress.lastNumber !== undefined) {
      progress.records.push({ damaged: line.toString('utf8', 0, headBytes) });
    }
  }
  return 'all';
}

function isOver({ maxBytes }: Search, { bytes, deadline }: Progress): boolean {
  return bytes > maxBytes || performance.now() > deadline;
}

/**
 * The complete lines of a file, the last one first, and undefined after each part that was read.
 */
async function* linesBack(handle: FileHandle, progress: Progress): AsyncGenerator<Buffer | undefined> {
  let rest = Buffer.alloc(0);
  // What follows the last line feed is not a complete line.
  let isIncomplete = true;
  for (let end = (await handle.stat()).size; end > 0;) {
    const start = Math.max(0, end - chunkBytes);
    const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(end - start), 0, end - start, start);
    progress.bytes += bytesRead;
    let bytes = Buffer.concat([buffer.subarray(0, bytesRead), rest]);
    for (let feed = bytes.lastIndexOf(0x0a); feed >= 0; feed = bytes.lastIndexOf(0x0a)) {
      if (!isIncomplete && bytes.length - feed - 1 <= lineMaxBytes) yield bytes.subarray(feed + 1);
      isIncomplete = false;
      bytes = bytes.subarray(0, feed);
    }
    rest = bytes.length > lineMaxBytes ? bytes.subarray(0, lineMaxBytes + 1) : bytes;
    end = start;
    if (end > 0) yield undefined;
  }
  if (!isIncomplete && rest.length > 0) yield rest;
}
