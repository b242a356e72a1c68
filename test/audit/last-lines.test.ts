import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { auditFile } from '../../src/audit/file-names.ts';
import { lastLines } from '../../src/audit/last-lines.ts';

let directory: string;
let rounds = 0;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'signetd-last-lines-'));
});
afterAll(() => {
  rmSync(directory, { recursive: true });
});

/** Writes files of these lines and returns their directory. `half`: the beginning of a line that a crash cut off. */
function written(files: readonly (readonly string[])[], half = ''): string {
  rounds += 1;
  const log = join(directory, String(rounds));
  mkdirSync(log);
  for (const [index, lines] of files.entries()) {
    const end = index === files.length - 1 ? half : '';
    writeFileSync(auditFile(log, index + 1).path, lines.map((line) => `${line}\n`).join('') + end);
  }
  return log;
}

describe('the last lines of the audit log', () => {
  it('are those of the last files, the newest first, however long they are', async () => {
    const line = fc.oneof(
      fc.string({ minLength: 1, maxLength: 40 }).map((text) => text.replaceAll(/[\n\uD800-\uDFFF]/g, '.')),
      fc.integer({ min: 60_000, max: 70_000 }).map((length) => 'é'.repeat(length / 2)),
    );
    const property = fc.asyncProperty(
      fc.array(fc.array(line, { maxLength: 6 }), { minLength: 1, maxLength: 3 }),
      fc.constantFrom('', 'half of a li'),
      fc.integer({ min: 1, max: 8 }),
      async (files, half, count) => {
        expect(await lastLines(written(files, half), count)).toEqual(files.flat().toReversed().slice(0, count));
      },
    );
    await fc.assert(property, { numRuns: 60 });
  });

  it('are none without a log', async () => {
    expect(await lastLines(written([[]]), 5)).toEqual([]);
  });
});
