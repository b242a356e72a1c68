import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lineHash } from '../../src/audit/line.ts';
import { repetitions } from '../support/repetitions.ts';
import { requestEntry, ScratchLog, softwareSigner, writeFiles, type Files } from './scratch-log.ts';

let sample: ScratchLog;
let original: Files;
/** What the log had been at its first stop. */
let older: Files;
let changedDirectory: string;
let changed: Files = new Map();

beforeAll(async () => {
  sample = new ScratchLog();
  const settings = { rotateBytes: 6000, checkpointRecords: 10 };
  for (const records of [25, 40]) {
    const audit = await sample.open(settings);
    for (let number = 0; number < records; number += 1) await audit.record(requestEntry(number));
    audit.refuseClient('no client certificate', '192.0.2.1');
    await audit.stop();
    older ??= sample.files();
  }
  original = sample.files();
  changedDirectory = mkdtempSync(join(tmpdir(), 'signetd-audit-changed-'));
});

afterAll(() => {
  sample.remove();
  rmSync(changedDirectory, { recursive: true, force: true });
});

interface Position {
  readonly file: string;
  /** From 1. */
  readonly line: number;
}

/** The first place where two logs differ. */
function firstDifference(before: Files, after: Files): Position | undefined {
  for (const [file, lines] of before) {
    const now = after.get(file);
    if (now === undefined) return { file, line: 1 };
    const line = lines.findIndex((text, index) => now[index] !== text);
    if (line >= 0) return { file, line: line + 1 };
    if (now.length > lines.length) return { file, line: lines.length + 1 };
  }
  const added = [...after.keys()].find((file) => !before.has(file));
  return added === undefined ? undefined : { file: added, line: 1 };
}

const positions = (): Position[] => [...original].flatMap(([file, lines]) => lines.map((_, index) => ({ file, line: index + 1 })));
const anyPosition = fc.nat().map((seed) => positions()[seed % positions().length] ?? { file: '', line: 0 });

/** The lines as a reader finds them: an inserted line feed makes two of one. */
function edit({ file, line }: Position, change: (lines: string[], index: number) => void): Files {
  const lines = [...(original.get(file) ?? [])];
  change(lines, line - 1);
  const read = lines.flatMap((text) => text.split('\n'));
  return new Map([...original].map(([name, kept]) => [name, name === file ? read : kept]));
}

const withLine = (position: Position, change: (text: string) => string): Files =>
  edit(position, (lines, index) => {
    lines[index] = change(lines[index] ?? '');
  });

/** One character becomes another, printable one. */
const changedCharacter = fc.tuple(anyPosition, fc.nat(), fc.integer({ min: 0x20, max: 0x7e })).map(([position, seed, code]) =>
  withLine(position, (text) => {
    const at = seed % text.length;
    return text.slice(0, at) + String.fromCharCode(code) + text.slice(at + 1);
  }),
);
const insertedCharacter = fc
  .tuple(anyPosition, fc.nat(), fc.constantFrom(' ', '0', '"', ',', 'a', '\\', '\n'))
  .map(([position, seed, text]) =>
    withLine(position, (line) => {
      const at = seed % (line.length + 1);
      return line.slice(0, at) + text + line.slice(at);
    }),
  );
const removedCharacter = fc.tuple(anyPosition, fc.nat()).map(([position, seed]) =>
  withLine(position, (line) => {
    const at = seed % line.length;
    return line.slice(0, at) + line.slice(at + 1);
  }),
);
const removedLines = fc
  .tuple(anyPosition, fc.integer({ min: 1, max: 5 }))
  .map(([position, count]) => edit(position, (lines, index) => lines.splice(index, count)));
const duplicatedLine = fc.tuple(anyPosition, fc.nat()).map(([position, seed]) =>
  edit(position, (lines, index) => {
    lines.splice(seed % (lines.length + 1), 0, lines[index] ?? '');
  }),
);
const swappedLines = fc.tuple(anyPosition, fc.nat()).map(([position, seed]) =>
  edit(position, (lines, index) => {
    const other = seed % lines.length;
    [lines[index], lines[other]] = [lines[other] ?? '', lines[index] ?? ''];
  }),
);
const movedBetweenFiles = fc.tuple(anyPosition, anyPosition).map(([from, to]) => {
  const text = original.get(from.file)?.[from.line - 1] ?? '';
  return withLine(to, () => text);
});
const cutFile = anyPosition.map((position) => edit(position, (lines, index) => lines.splice(index)));
const cutLog = anyPosition.map(
  (position) => new Map([...edit(position, (lines, index) => lines.splice(index))].filter(([file]) => file <= position.file)),
);
const removedFile = anyPosition.map(({ file }) => new Map([...original].filter(([name]) => name !== file)));
const swappedFiles = fc.tuple(anyPosition, anyPosition).map(([one, other]) => {
  const swap = new Map([
    [one.file, original.get(other.file) ?? []],
    [other.file, original.get(one.file) ?? []],
  ]);
  return new Map([...original].map(([name, lines]) => [name, swap.get(name) ?? lines]));
});
const rolledBack = fc.constantFrom('all', 'one').map((what) => (what === 'all' ? older : new Map([...original, ...older])));

/** A record that is changed, with every hash after it made to fit: what somebody does who knows the format and has not the key. */
const relinked = anyPosition.map((position) => {
  let previous = '';
  let isAfter = false;
  return new Map(
    [...original].map(([file, lines]) => [
      file,
      lines.map((text, index) => {
        let line = text;
        if (isAfter) line = line.replace(/"previous":"[0-9a-f]{64}"/, `"previous":"${previous}"`);
        if (file === position.file && index === position.line - 1) {
          line = line.replace(
            /"time":"20(\d\d)/,
            (_match, year: string) => `"time":"20${String((Number(year) + 1) % 100).padStart(2, '0')}`,
          );
          isAfter = true;
        }
        previous = lineHash(line);
        return line;
      }),
    ]),
  );
});

async function verifyChanged(files: Files) {
  changed = writeFiles(changedDirectory, files, changed);
  return sample.verify({}, changedDirectory);
}

/** So that a counterexample is told by its first difference, not by the whole log. */
const shownShort = (files: Files): Files =>
  Object.assign(files, { [fc.toStringMethod]: () => JSON.stringify(firstDifference(original, files)) });

describe('verification of an audit log', () => {
  it('finds nothing wrong with the log as it was written', async () => {
    expect(original.size).toBeGreaterThan(3);
    expect(positions().length).toBeGreaterThan(80);
    const result = await sample.verify();
    expect(result).toEqual(expect.objectContaining({ bad: undefined, files: original.size, records: positions().length }));
    expect(result.covered?.records).toBe(positions().length - 1);
  });

  it.each([
    ['a changed character', changedCharacter, 1000],
    ['an inserted character', insertedCharacter, 500],
    ['a removed character', removedCharacter, 500],
    ['removed lines', removedLines, 300],
    ['a duplicated line', duplicatedLine, 300],
    ['swapped lines', swappedLines, 300],
    ['a line from elsewhere', movedBetweenFiles, 300],
    ['a file that is cut', cutFile, 200],
    ['a log that is cut', cutLog, 200],
    ['a removed file', removedFile, 50],
    ['swapped files', swappedFiles, 50],
    ['a log, or its files, rolled back to what they had been', rolledBack, 10],
  ])('finds %s, and names the first place', async (_name, manipulated, numRuns) => {
    await fc.assert(
      fc.asyncProperty(manipulated.map(shownShort), async (files) => {
        const expected = firstDifference(original, files);
        fc.pre(expected !== undefined);
        const { bad } = await verifyChanged(files);
        expect(bad).toEqual({ ...expected, why: expect.any(String) as string });
      }),
      { numRuns: repetitions(numRuns) },
    );
  });

  it('finds a change that every later hash was made to fit, at the next checkpoint at the latest', async () => {
    await fc.assert(
      fc.asyncProperty(relinked.map(shownShort), async (files) => {
        const { bad } = await verifyChanged(files);
        expect(bad).toBeDefined();
      }),
      { numRuns: repetitions(200) },
    );
  });

  it('trusts no other key', async () => {
    const { bad } = await sample.verify({ publicKeys: [softwareSigner().publicKey] });
    expect(bad).toEqual({ file: 'audit-00000001.jsonl', line: 1, why: 'its checkpoint key is not trusted' });
  });

  it('starts with a later file where older ones are archived', async () => {
    const [, second, third] = [...original.keys()];
    changed = writeFiles(changedDirectory, new Map([...original].slice(1)), changed);
    expect((await sample.verify({}, changedDirectory)).bad).toEqual({ file: 'audit-00000001.jsonl', line: 1, why: 'the file is missing' });
    expect((await sample.verify({ from: second }, changedDirectory)).bad).toBeUndefined();
    expect((await sample.verify({ from: third }, changedDirectory)).bad).toBeUndefined();
  });

  it('cannot tell a log that was cut right after a checkpoint from one that ended there, unless it knows a later head', async () => {
    changed = writeFiles(changedDirectory, older, changed);
    expect((await sample.verify({ heads: [] }, changedDirectory)).bad).toBeUndefined();
    expect((await sample.verify({}, changedDirectory)).bad?.why).toContain('is known to have reached record');
  });
});
