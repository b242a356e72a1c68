import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { AuditLog } from '../../src/audit/audit-log.ts';
import { chainedLine, entryBody, lineHash } from '../../src/audit/line.ts';
import type { VerifyResult } from '../../src/audit/verify.ts';
import { requestEntry, ScratchLog, writeFiles, type Files } from './scratch-log.ts';

const day = (number: number): Date => new Date(`2026-03-0${number}T12:00:00Z`);
let log: ScratchLog;
let audit: AuditLog | undefined;
let copy: string;

beforeEach(() => {
  log = new ScratchLog();
  copy = mkdtempSync(join(tmpdir(), 'signetd-audit-removed-'));
});

afterEach(async () => {
  await audit?.stop();
  audit = undefined;
  vi.useRealTimers();
  log.remove();
  rmSync(copy, { recursive: true, force: true });
});

/** A log of four days with several files each, still open on the last one. */
async function fourDays(signer = log.signer): Promise<AuditLog> {
  vi.useFakeTimers({ toFake: ['Date'] });
  for (const number of [1, 2, 3, 4]) {
    vi.setSystemTime(day(number));
    audit = await log.open({ rotateBytes: 4096, checkpointRecords: 5, signer });
    for (let count = 0; count < 20; count += 1) await audit.record(requestEntry(count));
    if (number < 4) await audit.stop();
  }
  if (audit === undefined) throw new Error('no log');
  return audit;
}

const names = (): string[] =>
  readdirSync(log.directory)
    .filter((name) => name.startsWith('audit-'))
    .toSorted();
const timesIn = (files: Files): string[] => [...files.values()].flat().map((line) => (JSON.parse(line) as { time: string }).time);
const verifyCopy = async (files: Files): Promise<VerifyResult> => {
  writeFiles(copy, files);
  return log.verify({}, copy);
};

describe('the removal of old files', () => {
  it('leaves a log that verifies from its first file, and goes on', async () => {
    const open = await fourDays();
    const before = names();
    const removed = await open.removeBefore(day(3).getTime());
    expect(removed?.files.map(({ name }) => name)).toEqual(before.slice(0, removed?.files.length));
    expect(names()).toEqual(before.slice(removed?.files.length));
    expect(timesIn(log.files()).filter((time) => time >= day(3).toISOString()).length).toBeGreaterThan(40);
    await open.record(requestEntry(99));
    await open.stop();
    audit = await log.open();
    await audit.stop();
    audit = undefined;
    const { bad, first } = await log.verify();
    expect([bad, first]).toEqual([undefined, (removed?.entry.records ?? 0) + 1]);
  });

  it('removes no file with a record that is young enough, and none twice', async () => {
    const open = await fourDays();
    const records = timesIn(log.files());
    await open.removeBefore(day(3).getTime());
    const left = timesIn(log.files());
    expect(records.filter((time) => time >= day(3).toISOString()).every((time) => left.includes(time))).toBe(true);
    expect(await open.removeBefore(day(3).getTime())).toBe(undefined);
    expect(await open.removeBefore(day(1).getTime() - 1)).toBe(undefined);
  });

  it('never touches the file that is written, or records that the state store has not passed', async () => {
    const open = await fourDays();
    const removed = await open.removeBefore(day(9).getTime());
    expect(names().length).toBeGreaterThan(0);
    expect(removed?.entry.records).toBeLessThan(log.memory.kept?.n ?? 0);
    await open.stop();
    audit = undefined;
    expect((await log.verify()).bad).toBe(undefined);
  });

  it('removes nothing if the record of it gets no checkpoint', async () => {
    let isBroken = false;
    const { signer } = log;
    const open = await fourDays({
      publicKey: signer.publicKey,
      sign: async (bytes) => (isBroken ? Promise.reject(new Error('the token is gone')) : signer.sign(bytes)),
    });
    const before = names();
    isBroken = true;
    await expect(open.removeBefore(day(3).getTime())).rejects.toThrow('no checkpoint can be made, so no file was removed');
    expect(names().slice(0, before.length)).toEqual(before);
    isBroken = false;
    await open.stop();
    audit = undefined;
    expect((await log.verify()).bad).toBe(undefined);
  });

  it('removes and records nothing while a backup holds checkpoints back', async () => {
    const open = await fourDays();
    await open.backupPoint();
    const before = log.files();
    await expect(open.removeBefore(day(3).getTime())).rejects.toThrow('a backup has just been made, so no file was removed');
    expect(log.files()).toEqual(before);
  });

  it('can be interrupted after any file', async () => {
    const open = await fourDays();
    const whole = log.files();
    const removed = (await open.removeBefore(day(3).getTime()))?.files.length ?? 0;
    await open.stop();
    audit = undefined;
    const after = new Map([...whole, ...log.files()]);
    for (let gone = 0; gone <= removed; gone += 1) {
      const { bad } = await verifyCopy(new Map([...after].slice(gone)));
      expect([gone, bad]).toEqual([gone, undefined]);
      rmSync(copy, { recursive: true });
      copy = mkdtempSync(join(tmpdir(), 'signetd-audit-removed-'));
    }
    expect((await verifyCopy(new Map([...after].slice(removed + 1)))).bad).toMatchObject({ why: 'the file is missing' });
  });

  it('that no record explains is found: a removal by hand, or with a record that no checkpoint covers', async () => {
    const open = await fourDays();
    await open.stop();
    audit = undefined;
    const files = [...log.files()];
    const missing = { file: 'audit-00000001.jsonl', line: 1, why: 'the file is missing' };
    expect((await verifyCopy(new Map(files.slice(1)))).bad).toEqual(missing);
    // Anybody who can write the files can append a record, but no checkpoint.
    const [, closed] = files[0] ?? [];
    const closing = closed?.at(-1) ?? '';
    const [newest = '', lines = []] = files.at(-1) ?? [];
    const last = lines.at(-1) ?? '';
    const place = { n: (JSON.parse(last) as { n: number }).n, hash: lineHash(last) };
    const records = (JSON.parse(closing) as { n: number }).n;
    const forged = chainedLine(
      place,
      day(5).toISOString(),
      entryBody({ kind: 'removal', next: files[1]?.[0] ?? '', records, hash: lineHash(closing) }),
    );
    expect((await verifyCopy(new Map([...files.slice(1, -1), [newest, [...lines, forged]]]))).bad).toEqual(missing);
  });
});
