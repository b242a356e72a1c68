import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { fileName } from '../../src/audit/file-names.ts';
import { HandOver } from '../../src/audit/syslog/hand-over.ts';
import { PositionFile } from '../../src/audit/syslog/position.ts';
import { endOfLog, unsentLines } from '../../src/audit/syslog/unsent-lines.ts';

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
  // A file that has been sent is followed by the next one, from its beginning.
  writeFileSync(at(fileName(6)), '');
  expect(await unsentLines(directory, after, 9)).toEqual({ lines: [], after: { file: 6, offset: 0, record: 9 } });
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

it('requests are held up beyond the lag, and go on at half of it', () => {
  const handOver = new HandOver({ lagMaxMs: 1000, settleMs: 100 });
  expect([handOver.lagMs, handOver.isHeldUp]).toEqual([0, true]);
  const look = (nowMs: number, received: number, durable: number): boolean => {
    handOver.look({ connectedSinceMs: 0, received, durable }, nowMs);
    return handOver.isHeldUp;
  };
  expect(look(200, 0, 0)).toBe(false);
  expect(look(1000, 0, 1)).toBe(false);
  // The first record is late, and a second one follows.
  expect([look(2000, 0, 2), handOver.lagMs]).toEqual([false, 1000]);
  expect([look(2001, 0, 2), handOver.lagMs]).toEqual([true, 1001]);
  // The second one is not received either, and is old enough or not.
  expect([look(2501, 1, 2), handOver.lagMs]).toEqual([true, 501]);
  const other = new HandOver({ lagMaxMs: 1000, settleMs: 100 });
  const lookAt = (nowMs: number, received: number, durable: number): boolean => {
    other.look({ connectedSinceMs: 0, received, durable }, nowMs);
    return other.isHeldUp;
  };
  for (const [nowMs, durable] of [
    [200, 0],
    [1000, 1],
    [2000, 2],
    [2001, 2],
  ] as const)
    lookAt(nowMs, 0, durable);
  expect([lookAt(2500, 1, 2), other.lagMs]).toEqual([false, 500]);
});

it('forwarding begins at the end of the newest file', async () => {
  writeFileSync(at(fileName(2)), 'older\n');
  writeFileSync(at(fileName(3)), 'new\n');
  expect(await endOfLog(directory, 5)).toEqual({ file: 3, offset: 4, record: 5 });
});
