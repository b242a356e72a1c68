import { createHash } from 'node:crypto';
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  accountFile,
  accountFiles,
  accountHash,
  accountHeads,
  accountLine,
  accountTail,
  noLine,
  type AccountTail,
} from '../../src/token/account-files.ts';

const time = '2026-03-02T10:00:00.000Z';
let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'signetd-account-files-'));
});

afterEach(() => {
  rmSync(directory, { recursive: true });
});

const line = (n: number, rest = '"uses":[]'): string => accountLine(n, time, noLine, rest);
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const bytesOf = (...lines: string[]): string => lines.map((one) => `${one}\n`).join('');

function write(number: number, text: string, chain = 0): void {
  writeFileSync(accountFile(directory, chain, number).path, text);
}

const tail = (chain = 0): AccountTail => accountTail(accountFiles(directory).get(chain) ?? []);

describe('the files of an account', () => {
  it('have the chain and their number in their name', () => {
    expect(accountFile('/somewhere', 3, 12)).toEqual({
      ...{ name: 'account-3-00000012.jsonl', path: '/somewhere/account-3-00000012.jsonl', chain: 3, number: 12 },
    });
  });

  it('are found by their names alone, those of each chain oldest first', () => {
    for (const [chain, number] of [
      [10, 2],
      [2, 10],
      [2, 9],
      [10, 1],
    ] as const)
      write(number, '', chain);
    for (const other of ['account-1-0000001.jsonl', 'account-1-000000001.jsonl', 'account-1000-00000001.jsonl', 'account--00000001.jsonl'])
      writeFileSync(join(directory, other), '');
    for (const other of ['account-1-00000001.jsonl.old', 'xaccount-1-00000001.jsonl', 'account-1-00000001xjsonl', 'other'])
      writeFileSync(join(directory, other), '');
    const found = [...accountFiles(directory)].map(([chain, files]) => [chain, files.map(({ number }) => number)]);
    expect(found).toEqual([
      [2, [9, 10]],
      [10, [1, 2]],
    ]);
  });

  it('have lines with their number, their time and the hash of the one before', () => {
    expect(accountLine(7, time, 'ab', '"start":{}')).toBe(`{"n":7,"time":"${time}","previous":"ab","start":{}}`);
    expect(accountHash('line')).toBe(sha256('line'));
    expect([noLine.length, new Set(noLine)]).toEqual([64, new Set('0')]);
  });
});

describe('the end of a chain', () => {
  it('does not exist if there is no file, or no line', () => {
    const nothing = { n: 0, hash: noLine, goodBytes: 0, cutBytes: 0, isSound: true };
    expect(tail()).toEqual({ file: 0, ...nothing });
    write(4, '');
    expect(tail()).toMatchObject({ file: 4, ...nothing });
    write(4, '{"n":1');
    expect(tail()).toMatchObject({ file: 4, ...nothing, cutBytes: 6 });
  });

  it('is the last line, and what stands behind its line feed was cut', () => {
    const whole = bytesOf(line(1), line(2));
    write(1, whole);
    const sound = { file: 1, n: 2, hash: sha256(line(2)), goodBytes: whole.length, cutBytes: 0, isSound: true };
    expect(tail()).toEqual(sound);
    appendFileSync(accountFile(directory, 0, 1).path, '{"n":3,"ti');
    expect(tail()).toEqual({ ...sound, cutBytes: 10 });
  });

  it('is in the file before where a newer one has no line', () => {
    write(1, bytesOf(line(1), line(2)));
    write(2, '');
    write(3, 'half');
    expect(tail()).toEqual({ file: 3, n: 2, hash: sha256(line(2)), goodBytes: 0, cutBytes: 4, isSound: true });
    write(4, bytesOf(line(3)));
    expect(tail()).toMatchObject({ file: 4, n: 3, goodBytes: line(3).length + 1, cutBytes: 0 });
  });

  it('counts on from the last line that this service writes where others stand behind it, in whatever file', () => {
    write(1, bytesOf(line(1), line(2), 'something', 'else'));
    expect(tail()).toMatchObject({ file: 1, n: 4, hash: sha256('else'), isSound: false });
    write(2, bytesOf('third'));
    expect(tail()).toMatchObject({ file: 2, n: 5, hash: sha256('third'), isSound: false });
    write(3, bytesOf(line(6)));
    expect(tail()).toMatchObject({ file: 3, n: 6, isSound: true });
  });

  it('is none of this service where no line is', () => {
    write(1, bytesOf('something', 'else'));
    expect(tail()).toMatchObject({ file: 1, n: 0, hash: sha256('else'), isSound: false });
  });

  it.each([
    line(1).replace('"n":1', '"n":x'),
    line(1).replace('"n":1', '"n":1234567890123456'),
    line(1).replace('Z"', '"'),
    line(1).replace(noLine, noLine.slice(1)),
    ` ${line(1)}`,
  ])('is no line that this service writes: %s', (other) => {
    write(1, bytesOf(line(41), other));
    expect(tail()).toMatchObject({ n: 42, hash: sha256(other), isSound: false });
  });

  it('is found near the end of a long file, whose first line there may be cut', () => {
    const long = line(1, `"uses":["${'x'.repeat(1 << 20)}"]`);
    write(1, bytesOf(long, line(2)));
    const sound = { file: 1, n: 2, hash: sha256(line(2)), goodBytes: long.length + line(2).length + 2, cutBytes: 0, isSound: true };
    expect(tail()).toEqual(sound);
    // A mebibyte from the end on stands a whole line.
    const exact = line(2, `"uses":["${'x'.repeat((1 << 20) - line(2, '"uses":[""]').length - 1)}"]`);
    expect(exact.length).toBe((1 << 20) - 1);
    write(1, bytesOf(exact));
    expect(tail()).toMatchObject({ n: 2, hash: sha256(exact), isSound: true });
  });

  it('is told of each chain', () => {
    write(1, bytesOf(line(1)), 0);
    write(2, bytesOf(line(2), line(3)), 0);
    write(1, bytesOf(line(9)), 5);
    expect(accountHeads(directory)).toEqual([
      { chain: 0, n: 3, hash: sha256(line(3)) },
      { chain: 5, n: 9, hash: sha256(line(9)) },
    ]);
  });
});
