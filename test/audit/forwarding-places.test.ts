import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { fileName } from '../../src/audit/file-names.ts';
import { HandOver } from '../../src/audit/syslog/hand-over.ts';
import { PositionFile } from '../../src/audit/syslog/position.ts';
import { unsentLines } from '../../src/audit/syslog/unsent-lines.ts';

let directory: string;
const at = (name: string): string => join(directory, name);

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'signetd-forwarding-places-'));
});
afterEach(() => {
  rmSync(directory, { recursive: true });
});

it('a place in a file that is gone is the beginning of the next one', async () => {
  const line = (n: number): string => `{"n":${n},"time":"2026-03-02T10:15:30.123Z","previous":"","kind":"open"}`;
  writeFileSync(at(fileName(4)), `${line(8)}\n${line(9)}\n`);
  const { lines, after } = await unsentLines(directory, { file: 2, offset: 40, record: 7 }, 9);
  expect(lines.map(({ head }) => head.n)).toEqual([8, 9]);
  expect(after).toEqual({ file: 4, offset: 2 * line(8).length + 2, record: 9 });
  // No line is to be sent yet.
  expect(await unsentLines(directory, { file: 2, offset: 40, record: 7 }, 7)).toEqual({
    lines: [],
    after: { file: 4, offset: 0, record: 7 },
  });
});

it('a stored place is read as it was written, and its absence is told from what cannot be read', async () => {
  const file = new PositionFile(directory);
  expect(file.read()).toBeUndefined();
  await file.write({ file: 3, offset: 0, record: 12 });
  expect(file.read()).toEqual({ file: 3, offset: 0, record: 12 });
  const path = at('syslog-position.json');
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(readFileSync(path, 'utf8')).toBe('{"file":3,"offset":0,"record":12}\n');
  for (const text of ['', '{"file":3,"offset":0}', '{"file":-1,"offset":0,"record":0}', '{"file":0,"offset":0,"record":0,"more":0}']) {
    writeFileSync(path, text);
    expect(() => file.read()).toThrow();
  }
  rmSync(path);
  mkdirSync(path);
  expect(() => file.read()).toThrow('EISDIR');
});

it('a connection proves something once it has been open for exactly as long as it has to', () => {
  const heldUp = (lastsMs: number): boolean => {
    const handOver = new HandOver({ lagMaxMs: 1000, settleMs: 100 });
    const look = (connectedSinceMs: number | undefined, nowMs: number): void => {
      handOver.look({ connectedSinceMs, received: 0, durable: 0 }, nowMs);
    };
    look(0, 0);
    // It is the first one, which is trusted until the lag has passed.
    expect(handOver.isHeldUp).toBe(false);
    look(5000, 5000 + lastsMs);
    return handOver.isHeldUp;
  };
  expect([heldUp(99), heldUp(100)]).toEqual([true, false]);
});
