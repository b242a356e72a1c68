import { linkSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { OutputDirectory } from '../../src/documents/paths/output-directory.ts';
import { StagedNames } from '../../src/documents/paths/staged-names.ts';
import { dueMs, NotPublishedYet, Publications, type JournalEntry, type LeftPublication } from '../../src/documents/publications.ts';
import type { StateStore } from '../../src/state/state-store.ts';
import type { Step, StepResults } from '../../src/state/step.ts';
import { recordingLog } from '../support/silent-log.ts';
import { StoreAround } from '../support/store-around.ts';
import { StoreHere } from '../support/store-here.ts';
import { turnsUntil } from '../support/turns-until.ts';

let base: string;
let directory: string;
let store: StoreHere;
let publications: Publications | undefined;
let recorded: Set<string>;
let log: ReturnType<typeof recordingLog>;
let names: StagedNames;

beforeEach(async () => {
  base = mkdtempSync(join(tmpdir(), 'signetd-publications-'));
  directory = join(base, 'out');
  mkdirSync(directory);
  store = await StoreHere.open(join(base, 'state.sqlite'));
  recorded = new Set(['request']);
  log = recordingLog();
  names = new StagedNames('test');
});
afterEach(async () => {
  vi.useRealTimers();
  await publications?.stop();
  publications = undefined;
  await store.close();
  rmSync(base, { recursive: true });
});

/** Counts how often an entry was looked at. */
class AskedStore extends StoreAround {
  looks = 0;

  async commit<const S extends readonly Step[]>(steps: S): Promise<StepResults<S>> {
    if (steps.some(({ name }) => name === 'findPublication')) this.looks += 1;
    return this.store.commit(steps);
  }
}

async function open(of: StateStore = store): Promise<Publications> {
  await publications?.stop();
  publications = await Publications.open({
    ...{ store: of, owner: 'one', names, transfers: undefined, log, writeDirectories: () => [directory] },
    isRecorded: (request) => recorded.has(request),
  });
  return publications;
}

/** Stages a file as a run does that then dies: its entry of the journal. */
async function staged(fileName: string): Promise<JournalEntry> {
  const output = await OutputDirectory.open(directory, [directory], { names, at: '/x', mode: 0o640 });
  await output.stage({ fileName, ending: '.p7s' }, async (file) => file.writeFile(`of ${fileName}`));
  const entry = structuredClone(output.journal);
  await output.close();
  return entry;
}

const due = async (id: string, items: unknown, endsAt = Date.now() + dueMs, owner = 'one'): Promise<void> =>
  store.run('addPublication', { id, owner, request: 'request', items: JSON.stringify(items), ends_at: endsAt });
const left = (items: readonly JournalEntry[], changes: Partial<LeftPublication> = {}): LeftPublication => ({
  ...{ id: 'id', request: 'request', items, staysDue: true, endsAt: Date.now() + dueMs, ...changes },
});
const isDue = async (id: string): Promise<boolean> => (await store.run('findPublication', id)) !== undefined;
const finalNames = (): string[] => readdirSync(directory).filter((name) => !name.startsWith('.signetd.'));

describe('evidence that an earlier run left', () => {
  it('is published at the start, with its permissions, and its entry ends', async () => {
    await due('id', [await staged('a')]);
    await open();
    expect(readdirSync(directory)).toEqual(['a.p7s']);
    expect([readFileSync(join(directory, 'a.p7s'), 'utf8'), statSync(join(directory, 'a.p7s')).mode & 0o777]).toEqual(['of a', 0o640]);
    expect(await isDue('id')).toBe(false);
    expect(log.lines).toEqual([expect.stringContaining('published evidence left by an earlier request')]);
  });

  it('keeps its temporary names, whatever else is removed of that run, until its record is there', async () => {
    recorded.clear();
    await due('id', [await staged('a')]);
    names = new StagedNames('test');
    const waiting = await open();
    await names.removeLeft([directory], log);
    expect([readdirSync(directory).length, finalNames(), await isDue('id')]).toEqual([1, [], true]);
    recorded.add('request');
    expect(await waiting.renamed('id')).toEqual(new Map());
    expect(finalNames()).toEqual(['a.p7s']);
  });

  it('of several directories and files is published together, and each name that is taken by then is told', async () => {
    await due('id', [await staged('a'), await staged('b')]);
    writeFileSync(join(directory, 'b.p7s'), 'of somebody else');
    const one = await open();
    expect(finalNames()).toEqual(['a.p7s', 'b (1).p7s', 'b.p7s']);
    expect(await one.renamed('id')).toEqual(new Map([[join(directory, 'b.p7s'), join(directory, 'b (1).p7s')]]));
  });

  it('that this service did not write is left alone', async () => {
    const entry = await staged('a');
    if (entry.kind !== 'directory') throw new Error('it is a directory');
    const [file] = entry.files;
    const wrong: unknown[] = [
      { ...entry, mode: 0o1777 },
      { ...entry, mode: -1 },
      { ...entry, more: 1 },
      { ...entry, kind: 'other' },
      ...[{ staged: 'a' }, { inode: '1x' }, { fileName: '../a' }, { name: 'a/b' }, { name: '' }, { ending: 'p7s' }, { ending: '.P7S' }].map(
        (change) => ({ ...entry, files: [{ ...file, ...change }] }),
      ),
      { kind: 'transfer', fileID: 'short' },
      'text',
    ];
    for (const [index, item] of wrong.entries()) await due(`id ${index}`, [item]);
    await due('no list', {});
    await open();
    expect(log.lines.filter((line) => line.includes('was not written by this service'))).toHaveLength(wrong.length + 1);
    expect([finalNames(), await isDue('id 0'), await isDue('no list')]).toEqual([[], true, true]);
  });

  it('that cannot be found stays due until it is given up', async () => {
    const entry = await staged('a');
    for (const name of readdirSync(directory)) unlinkSync(join(directory, name));
    await due('open', [entry], Date.now() + 60_000);
    await due('over', [entry], Date.now() - 1);
    await open();
    expect([await isDue('open'), await isDue('over')]).toEqual([true, false]);
    const count = (text: string): number => log.lines.filter((line) => line.includes(text)).length;
    expect([count('is given up: it cannot be found'), count('is not published yet')]).toEqual([1, 1]);
  });

  it('whose directory is full stays due however old it is', async () => {
    const entry = await staged('a');
    // So many names are taken that none is left.
    writeFileSync(join(directory, 'a.p7s'), '');
    writeFileSync(join(directory, 'a (999999).p7s'), '');
    for (let number = 1; number < 15; number += 1) linkSync(join(directory, 'a.p7s'), join(directory, `a (${number}).p7s`));
    await due('id', [entry], Date.now() - 1);
    await open();
    expect([await isDue('id'), log.lines.some((line) => line.includes('too many files with this name'))]).toEqual([true, true]);
  });

  it('is tried again after a pause that doubles, up to a minute', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'performance', 'setInterval', 'clearInterval'] });
    const entry = await staged('a');
    for (const name of readdirSync(directory)) unlinkSync(join(directory, name));
    const asked = new AskedStore(store);
    const one = await open(asked);
    const failures = (): number => log.lines.filter((line) => line.includes('is not published yet')).length;
    /** An attempt begins with a look at the entry, and nobody moves the clock before it ends. */
    const ended = async (): Promise<void> => turnsUntil(() => failures() >= asked.looks);
    await due('id', [entry]);
    await one.leave(left([entry]));
    await ended();
    const pauses: number[] = [];
    for (let attempt = 2; attempt <= 10; attempt += 1) {
      let seconds = 0;
      for (; asked.looks < attempt; seconds += 1) vi.advanceTimersByTime(1000);
      pauses.push(seconds);
      await ended();
    }
    expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60]);
  });
});

describe('evidence that is withdrawn', () => {
  it('is removed with its entry, also if no commit has made it due', async () => {
    const one = await open();
    const [settled, unsettled] = [await staged('a'), await staged('b')];
    await due('id', [settled]);
    await one.leave(left([settled], { staysDue: false }));
    expect([readdirSync(directory).length, await isDue('id')]).toEqual([1, false]);
    await one.leave(left([unsettled], { staysDue: false, id: 'never due' }));
    expect(readdirSync(directory)).toEqual([]);
    expect(log.lines).toEqual([]);
  });

  it('takes back the files in the transfer store that are staged, and no others', async () => {
    const [staged1, stored] = ['s'.repeat(43), 't'.repeat(43)];
    const file = { tenant: 'demo', owner: 'one', media_type: 'x/y', file_name: null, ends_at: 1e15, quota: { bytes: 9, files: 9 } };
    for (const id of [staged1, stored]) await store.run('beginTransfer', { ...file, id, bytes: 1 });
    await store.run('stageTransfer', { id: staged1, bytes: 1, sha256: 'aa', ends_at: 1e15 });
    await store.run('storeTransfer', { id: stored, bytes: 1, sha256: 'aa', ends_at: 1e15 });
    const items: JournalEntry[] = [staged1, stored].map((fileID) => ({ kind: 'transfer', fileID }));
    const one = await open();
    await due('id', items);
    await one.leave(left(items, { staysDue: false }));
    expect(await store.run('endedTransfers', { now: 1, limit: 9 })).toEqual([staged1]);
    expect(await store.run('findTransfer', { id: stored, tenant: 'demo', now: 1 })).toBeDefined();
  });
});

describe('a repeated answer', () => {
  it('waits for its evidence, and not for ever', async () => {
    const one = await open();
    expect(await one.renamed('nothing is due')).toEqual(new Map());
    await due('id', []);
    vi.useFakeTimers({ toFake: ['performance'] });
    const waiting = one.renamed('id');
    await store.run('probe');
    vi.advanceTimersByTime(10_001);
    await expect(waiting).rejects.toThrow(NotPublishedYet);
    vi.useRealTimers();
    const second = one.renamed('id');
    await store.run('keepPublishedNames', { id: 'id', renamed: '[["/a","/b"]]', endsAt: Date.now() + 1000 });
    expect(await second).toEqual(new Map([['/a', '/b']]));
  });
});
