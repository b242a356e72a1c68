import { setTimeout as delay } from 'node:timers/promises';
import type { AuditFile } from './file-names.ts';
import { lineHash } from './line.ts';
import { readLines, type ReadLine } from './read-lines.ts';
import { parseLine, type Line } from './verify-line.ts';

const settleMs = 100;
const settleTries = 20;

/** A line of a log, read. */
export interface LogLine {
  readonly file: AuditFile;
  /** From 1. */
  readonly line: number;
  readonly hash: string;
  /** What it says, or what is wrong with it. */
  readonly record: Line | string;
}

/** The lines of all the files, one after the other; ends with the first that is wrong in itself. */
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

/** A running service may be in the middle of a line: it is given time to finish it. */
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
