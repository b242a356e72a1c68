import type { ChainStart } from './chain.ts';
import { auditFiles, type AuditFile } from './file-names.ts';
import { lastLineWith } from './line-offset.ts';
import { beginning, lineHash, parseLine } from './line.ts';
import { readLines } from './read-lines.ts';
import type { FilePlace, Place } from './record.ts';

export interface FoundTail extends ChainStart {
  /** Length of a half-written line that will be cut off. */
  readonly cutBytes: number;
}

interface Scan {
  /** The last record; undefined if the file has no complete line. */
  readonly tail: Place | undefined;
  readonly goodBytes: number;
  readonly cutBytes: number;
  readonly isClosed: boolean;
  /** Offset of the first line that breaks the chain. */
  readonly damagedAt: number | undefined;
  /** Hash of the record that the state store holds, if it is in this file. */
  readonly hashOfKnown: string | undefined;
}

/**
 * Finds where the log continues after a start; `known` is the place in it that the state store
 * holds. A half-written line at the end is the result of a crash and is cut off. Damage that a
 * crash cannot cause (records known to the state store are missing, or the newest file breaks the
 * chain) is left as it is, and a new file begins with a permanent note of the gap. The newest file
 * is read from the known place on, so that a start takes as long with a long log as with a short
 * one: damage before that place is found by verification.
 */
export async function findTail(directory: string, known: FilePlace | undefined): Promise<FoundTail> {
  const files = await auditFiles(directory);
  let newest: { file: AuditFile; scan: Scan; tail: Place } | undefined;
  let emptyCutBytes = 0;
  for (const file of files.toReversed()) {
    const scan = await scanFile(file, known);
    if (scan.tail !== undefined) {
      newest = { file, scan, tail: scan.tail };
      break;
    }
    emptyCutBytes += scan.cutBytes;
  }
  const highest = Math.max(files.at(-1)?.number ?? 0, known?.file ?? 0);
  const scanned = newest?.tail ?? beginning;
  const gap = newest === undefined ? gapWithoutLog(known) : gapOf(newest.scan, scanned, known);
  if (gap !== undefined) {
    const tail = known !== undefined && known.n >= scanned.n ? { n: known.n, hash: known.hash } : scanned;
    return { tail, file: highest + 1, goodBytes: 0, gap, cutBytes: 0 };
  }
  if (newest === undefined) return { tail: beginning, file: files[0]?.number ?? 1, goodBytes: 0, cutBytes: emptyCutBytes };
  const { file, scan } = newest;
  // A crash between two files leaves the old one closed and the new one empty or missing.
  if (scan.isClosed || highest > file.number) return { tail: scanned, file: file.number + 1, goodBytes: 0, cutBytes: emptyCutBytes };
  return { tail: scanned, file: file.number, goodBytes: scan.goodBytes, cutBytes: scan.cutBytes, publicKey: await keyNamedBy(file) };
}

function gapWithoutLog(known: FilePlace | undefined): string | undefined {
  return known === undefined ? undefined : `the log is missing; the state store knows it up to record ${known.n}`;
}

function gapOf({ damagedAt, hashOfKnown }: Scan, tail: Place, known: FilePlace | undefined): string | undefined {
  if (damagedAt !== undefined) return `the newest file breaks the chain at byte ${damagedAt}`;
  if (known === undefined) return undefined;
  if (known.n > tail.n) return `the log ended at record ${tail.n}; the state store knows it up to record ${known.n}`;
  if (hashOfKnown !== undefined && hashOfKnown !== known.hash) return `record ${known.n} is not the one known to the state store`;
  return undefined;
}

/** Returns the key that the first record of a file names, base64. */
async function keyNamedBy({ path }: AuditFile): Promise<string | undefined> {
  for await (const { bytes, isWhole } of readLines(path)) {
    const record = isWhole ? parseLine(bytes) : '';
    return typeof record !== 'string' && record.kind === 'open' ? record.publicKey : undefined;
  }
  return undefined;
}

async function scanFile({ path, number }: AuditFile, known: FilePlace | undefined): Promise<Scan> {
  const from = known?.file === number ? await lastLineWith(path, ({ n }) => n <= known.n) : 0;
  let tail: Place | undefined;
  let goodBytes = from;
  let cutBytes = 0;
  let isClosed = false;
  let damagedAt: number | undefined;
  let hashOfKnown: string | undefined;
  for await (const { bytes, isWhole, end } of readLines(path, from)) {
    if (!isWhole) {
      cutBytes = bytes.length;
      break;
    }
    const record = placeIn(bytes);
    const isInOrder = record !== undefined && (tail === undefined || (record.n === tail.n + 1 && record.previous === tail.hash));
    if (!isInOrder) damagedAt ??= goodBytes;
    goodBytes = end;
    tail = { n: record?.n ?? (tail?.n ?? 0) + 1, hash: lineHash(bytes) };
    isClosed = record?.kind === 'close';
    if (tail.n === known?.n) hashOfKnown = tail.hash;
  }
  return { tail, goodBytes, cutBytes, isClosed, damagedAt, hashOfKnown };
}

function placeIn(line: Buffer): { n: number; previous: string; kind: string } | undefined {
  try {
    const record: unknown = JSON.parse(line.toString('utf8'));
    if (typeof record !== 'object' || record === null) return undefined;
    if (!('n' in record && 'previous' in record && 'kind' in record)) return undefined;
    const { n, previous, kind } = record;
    if (typeof n !== 'number' || typeof previous !== 'string' || typeof kind !== 'string') return undefined;
    return { n, previous, kind };
  } catch {
    return undefined;
  }
}
