import { setTimeout as delay } from 'node:timers/promises';
import type { AuditFile } from './file-names.ts';
import { lineHash, parseLine, type Line } from './line.ts';
import { readLines, type ReadLine } from './read-lines.ts';

const settleMs = 100;
const settleTries = 20;

/** A line read from a log. */
export interface LogLine {
  readonly file: AuditFile;
  /** From 1. */
  readonly line: number;
  readonly hash: string;
  /** Its length with its line feed. */
  readonly bytes: number;
  /** The record, or what is wrong with the line. */
  readonly record: Line | string;
}

/** Yields the lines of all files in order, up to and including the first malformed one. */
export async function* logLines(files: readonly AuditFile[]): AsyncGenerator<LogLine> {
  for (const file of files) {
    let line = 0;
    for await (const { bytes, isWhole } of settledLines(file, file === files.at(-1) && file.within === undefined)) {
      line += 1;
      const record = isWhole ? parseLine(bytes) : 'it is cut off';
      yield { file, line, hash: lineHash(bytes), bytes: bytes.length + 1, record };
      if (typeof record === 'string') return;
    }
  }
}

/**
 * Yields the lines of a file. A running service may still be writing a line: it is given time to
 * finish.
 */
async function* settledLines({ path, within }: AuditFile, isNewest: boolean): AsyncGenerator<ReadLine> {
  const { offset, bytes } = within ?? { offset: 0, bytes: Infinity };
  let given = 0;
  for (let attempt = 0; ; attempt += 1) {
    let torn: ReadLine | undefined;
    let seen = 0;
    for await (const line of readLines(path, offset, offset + bytes)) {
      if (!line.isWhole) {
        torn = line;
        break;
      }
      seen += 1;
      if (seen <= given) continue;
      given = seen;
      yield line;
    }
    if (torn === undefined) return;
    if (!isNewest || attempt === settleTries) {
      yield torn;
      return;
    }
    await delay(settleMs);
  }
}
