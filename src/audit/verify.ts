import { auditFiles, fileName, type AuditFile } from './file-names.ts';
import { logLines, type LogLine } from './log-lines.ts';
import type { Checkpoint } from './checkpoint-entry.ts';
import type { Place } from './record.ts';
import { ChainCheck, type KeyUse } from './verify-chain.ts';
import type { Line } from './line.ts';

export interface VerifyOptions {
  /**
   * Trusted keys of checkpoints: SubjectPublicKeyInfo, DER. Those are trusted too that follow them
   * by their own word.
   */
  readonly publicKeys: readonly Uint8Array[];
  /**
   * Places that the log must contain: the last checkpoint in the state store, and any that were
   * kept elsewhere.
   */
  readonly heads?: readonly Place[];
  /** Name of the file to begin with, if older ones are archived. */
  readonly from?: string | undefined;
  /** Receives each record in order. */
  readonly observe?: ((record: Line) => Promise<void>) | undefined;
  /** Receives the number of bytes read so far. */
  readonly progress?: ((bytes: number) => void) | undefined;
}

export interface BadPlace {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  readonly why: string;
}

export interface VerifyResult {
  /** The first damaged place; undefined if the log is intact. */
  readonly bad: BadPlace | undefined;
  readonly files: number;
  /** Lines read, up to the bad place. */
  readonly records: number;
  readonly checkpoints: number;
  /** The keys that the files name, in order, and what they verified. */
  readonly keys: readonly KeyUse[];
  /** Content of the last checkpoint's signature. */
  readonly covered: Checkpoint | undefined;
  /** Number of the first record. */
  readonly first: number | undefined;
  /** The last record. */
  readonly last: Place | undefined;
}

/**
 * Reads a whole log, of any size, and returns the first damaged place. docs/audit.md says what that
 * proves.
 * @param log its directory, or its files in order
 */
export async function verifyAuditLog(
  log: string | readonly AuditFile[],
  { publicKeys, heads = [], from, observe, progress }: VerifyOptions,
): Promise<VerifyResult> {
  const found = typeof log === 'string' ? await auditFiles(log) : log;
  const first = from === undefined ? 0 : found.findIndex(({ name }) => name === from);
  const present = first < 0 ? [] : found.slice(first);
  const firstNumber = present[0]?.number ?? (from === undefined ? 1 : 0);
  const fromBeginning = from === undefined && firstNumber === 1;
  const missingAt = present.findIndex(({ number }, index) => number !== firstNumber + index);
  const files = missingAt < 0 ? present : present.slice(0, missingAt);
  const missing = missingAt < 0 ? undefined : fileName(firstNumber + missingAt);
  const chain = new ChainCheck({ publicKeys, heads, fromBeginning });
  let records = 0;
  let bytes = 0;
  let last: LogLine | undefined;
  let bad: BadPlace | undefined;
  for await (const [here, next, afterNext] of inSightOfTwo(logLines(files))) {
    const why = chain.take(here, next, afterNext);
    if (last === undefined && here.file !== files[0]) bad = emptyFile(firstNumber);
    else bad = why === undefined ? badChangeOfFile(here, next) : { ...placeOf(here), why };
    if (bad !== undefined) break;
    records += 1;
    bytes += here.bytes;
    last = here;
    progress?.(bytes);
    if (observe !== undefined && typeof here.record !== 'string') await observe(here.record);
  }
  bad ??= badEnd({ chain, files, last, missing: first < 0 ? from : missing });
  if (from === undefined && !fromBeginning && !chain.isBeginningRemoved) bad ??= { file: fileName(1), line: 1, why: 'the file is missing' };
  return {
    bad,
    files: files.length,
    records,
    checkpoints: chain.checkpoints,
    keys: chain.keys,
    covered: chain.covered,
    first: chain.first,
    last: chain.last,
  };
}

/**
 * Checks the transition from one file to the next: the last record of one, the first line of the
 * next.
 */
function badChangeOfFile(here: LogLine, next: LogLine | undefined): BadPlace | undefined {
  const isClosed = typeof here.record !== 'string' && here.record.kind === 'close';
  if (next === undefined) return undefined;
  if (next.file === here.file) return isClosed ? { ...placeOf(next), why: 'it follows the closing record of the file' } : undefined;
  if (!isClosed) return { ...afterIt(here), why: 'the file ends without its closing record' };
  return next.file.number === here.file.number + 1 ? undefined : emptyFile(here.file.number + 1);
}

interface End {
  readonly chain: ChainCheck;
  readonly files: readonly AuditFile[];
  readonly last: LogLine | undefined;
  readonly missing: string | undefined;
}

/** Checks that no lines are missing at the end, once all lines are valid. */
function badEnd({ chain, files, last, missing }: End): BadPlace | undefined {
  const isClosed = last !== undefined && typeof last.record !== 'string' && last.record.kind === 'close';
  const newest = files.at(-1);
  const lastNumber = last?.file.number ?? (files[0]?.number ?? 1) - 1;
  if (newest !== undefined && newest.number > lastNumber && !(isClosed && newest.number === lastNumber + 1)) {
    return isClosed || last === undefined
      ? emptyFile(lastNumber + 1)
      : { ...afterIt(last), why: 'the file ends without its closing record' };
  }
  const at = last === undefined ? { file: fileName(1), line: 1 } : isClosed ? { file: fileName(lastNumber + 1), line: 1 } : afterIt(last);
  if (missing !== undefined)
    return isClosed || last === undefined
      ? { file: missing, line: 1, why: 'the file is missing' }
      : { ...at, why: 'the file ends without its closing record' };
  const { lastKnown } = chain;
  if (lastKnown > (chain.last?.n ?? 0)) return { ...at, why: `the log ends here, but is known to have reached record ${lastKnown}` };
  return chain.checkpoints === 0 ? { ...at, why: 'the log has no checkpoint: it proves nothing' } : undefined;
}

function placeOf({ file, line }: LogLine): { file: string; line: number } {
  return { file: file.name, line };
}

function afterIt({ file, line }: LogLine): { file: string; line: number } {
  return { file: file.name, line: line + 1 };
}

function emptyFile(number: number): BadPlace {
  return { file: fileName(number), line: 1, why: 'the file is empty' };
}

/** Yields each line with the two that follow it. */
async function* inSightOfTwo(lines: AsyncIterable<LogLine>): AsyncGenerator<[LogLine, LogLine | undefined, LogLine | undefined]> {
  const window: LogLine[] = [];
  for await (const line of lines) {
    window.push(line);
    const [here, next, afterNext] = window;
    if (here === undefined || afterNext === undefined) continue;
    yield [here, next, afterNext];
    window.shift();
  }
  const [first, second] = window;
  if (first !== undefined) yield [first, second, undefined];
  if (second !== undefined) yield [second, undefined, undefined];
}
