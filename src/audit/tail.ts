import { setTimeout as delay } from 'node:timers/promises';
import { auditFile, auditFiles, type AuditFile } from './file-names.ts';
import { readLines } from './read-lines.ts';

const pollMs = 200;

export interface Tail {
  readonly lines: readonly string[];
  /** Place at which the following lines begin. */
  readonly file: AuditFile;
  readonly offset: number;
}

/** Returns the last lines of the log; undefined if there is none. */
export async function tailOf(directory: string, count: number): Promise<Tail | undefined> {
  const files = await auditFiles(directory);
  const file = files.at(-1);
  if (file === undefined) return undefined;
  let lines: string[] = [];
  let offset = 0;
  for (const one of files.toReversed()) {
    const found: string[] = [];
    for await (const { bytes, isWhole, end } of readLines(one.path)) {
      if (!isWhole) break;
      found.push(bytes.toString('utf8'));
      if (found.length > count) found.shift();
      if (one === file) offset = end;
    }
    lines = [...found, ...lines];
    if (lines.length >= count) break;
  }
  return { lines: lines.slice(Math.max(0, lines.length - count)), file, offset };
}

/** Yields the following lines as they are written, from file to file, without end. */
export async function* linesAfter(directory: string, tail: Tail): AsyncGenerator<string> {
  let { file, offset } = tail;
  for (;;) {
    for await (const { bytes, isWhole, end } of readLines(file.path, offset)) {
      if (!isWhole) break;
      offset = end;
      yield bytes.toString('utf8');
    }
    const next = auditFile(directory, file.number + 1);
    if ((await auditFiles(directory)).some(({ number }) => number === next.number)) {
      file = next;
      offset = 0;
      continue;
    }
    await delay(pollMs);
  }
}
