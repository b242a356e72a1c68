import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FailedStarts } from '../../src/service/failed-starts.ts';

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'signetd-starts-'));
});

afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

/** Each failure is of a process of its own. */
const waits = (count: number): number[] => Array.from({ length: count }, () => new FailedStarts(directory).add('the disk is full'));

describe('failed starts', () => {
  it('are waited for longer and longer, up to a minute; the first is told at once', () => {
    expect(waits(10)).toEqual([0, 2, 4, 8, 16, 32, 60, 60, 60, 60]);
  });

  it.each(['once', 'twice'])('begin anew after a start that succeeded, %s', () => {
    waits(5);
    new FailedStarts(directory).forget();
    expect(readdirSync(directory)).toEqual([]);
    expect(new FailedStarts(directory).last).toBeUndefined();
    expect(waits(3)).toEqual([0, 2, 4]);
  });

  it('tell how many they are, and why the last one failed', () => {
    new FailedStarts(directory).add('the first reason');
    new FailedStarts(directory).add('x'.repeat(10_000));
    expect(new FailedStarts(directory).last).toMatchObject({ starts: 2, reason: 'x'.repeat(2000) });
  });

  it('are not counted where no service manager starts the process again', () => {
    const alone = new FailedStarts(undefined);
    expect([alone.add('a reason'), alone.add('a reason'), alone.last]).toEqual([0, 0, undefined]);
    alone.forget();
  });

  it.each([
    '',
    '{',
    'null',
    '{"starts":-1,"reason":"","at":"2026-01-01T00:00:00Z"}',
    '{"starts":1e9,"reason":"","at":"2026-01-01T00:00:00Z"}',
  ])('count as none where the file holds %j', (text) => {
    writeFileSync(join(directory, 'failed-starts'), text);
    expect(waits(2)).toEqual([0, 2]);
  });

  it('are taken to be many where they cannot be kept', () => {
    const gone = new FailedStarts(join(directory, 'absent'));
    expect([gone.add('a reason'), gone.add('a reason')]).toEqual([60, 60]);
    gone.forget();
  });
});
