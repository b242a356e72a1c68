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
  /** The record, or what is wrong with the line. */
  readonly record: Line | string;
}

/** Yields the lines of all files in order, up to and including the first malformed one. */
export async function* logLines(files: readonly AuditFile[]): AsyncGenerator<LogLine> {
  for (const file of files) {
    let line = 0;
    for await (const { bytes, isWhole } of settledLines(file.path, file === files.at(-1))) {
      line += 1;
      const record = isWhole ? parseLine(bytes) : 'it is cut off';
      yield { file, line, hash: lineHash(bytes), record };
      if (typeof record === 'string') return;
    }
  }
}

/**
 * Yields the lines of a file. A running service may still be writing a line: it is given time to
 * finish.
 */
async function* settledLines(path: string, isNewest: boolean): AsyncGenerator<ReadLine> {
  let given = 0;
  for (let attempt = 0; ; attempt += 1) {
    let torn: ReadLine | undefined;
    let seen = 0;
    for await (const line of readLines(path)) {
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
