import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Deliveries } from '../../src/documents/deliveries.ts';
import { OutputDirectory } from '../../src/documents/paths/output-directory.ts';
import { StagedNames } from '../../src/documents/paths/staged-names.ts';
import { dueMs, Publications } from '../../src/documents/publications.ts';
import type { StagedTransfer } from '../../src/documents/transfer/transfer-store.ts';
import { Refusal } from '../../src/result-codes.ts';
import { step } from '../../src/state/step.ts';
import { recordingLog } from '../support/silent-log.ts';
import { StoreHere } from '../support/store-here.ts';

let base: string;
let store: StoreHere;
let publications: Publications;
let deliveries: Deliveries;
let events: string[];
const names = new StagedNames('test');

beforeEach(async () => {
  base = mkdtempSync(join(tmpdir(), 'signetd-deliveries-'));
  mkdirSync(join(base, 'one'));
  mkdirSync(join(base, 'two'));
  events = [];
  store = await StoreHere.open(join(base, 'state.sqlite'));
  publications = await Publications.open({
    ...{ store, owner: 'instance', names, transfers: undefined, log: recordingLog(), writeDirectories: () => [base] },
    isRecorded: () => true,
  });
  deliveries = new Deliveries(publications, 'request');
});
afterEach(async () => {
  await publications.stop();
  await store.close();
  rmSync(base, { recursive: true });
});

/** Evidence in the transfer store, which says what becomes of it. */
function transfer(letter: string): StagedTransfer {
  const fileID = letter.repeat(43);
  const told = (event: string): void => void events.push(`${event} ${letter}`);
  return {
    file: { fileID, fileSize: 1, sha256: '' },
    staging: () => step('finishStep', `staging ${letter}`),
    publishing: () => step('publishTransfer', { id: fileID, endsAt: 1 }),
    withdrawing: () => step('withdrawTransfer', fileID),
    published: () => {
      told('published');
    },
    discard: async () => {
      told('discarded');
      return Promise.resolve();
    },
    release: () => {
      told('released');
    },
  };
}
const directory = async (name: string): Promise<OutputDirectory> => {
  const opened = await OutputDirectory.open(join(base, name), [base], { names, at: '/x', mode: 0o644 });
  deliveries.addDirectory(opened);
  return opened;
};
const stage = async (opened: OutputDirectory): Promise<string> =>
  opened.stage({ fileName: 'a', ending: '.p7s' }, async (file) => file.writeFile('evidence'));
const files = (): string[][] => ['one', 'two'].map((name) => readdirSync(join(base, name)));
const answer = { answer: {} };

describe('deliveries', () => {
  it('of nothing need no commit, and have no step', async () => {
    expect([deliveries.isEmpty, deliveries.needsCommit, await deliveries.steps(answer)]).toEqual([true, false, []]);
    await directory('one');
    expect([deliveries.isEmpty, deliveries.needsCommit, await deliveries.steps(answer)]).toEqual([false, false, []]);
    expect(await deliveries.publish()).toEqual(new Map());
    await deliveries.end({ staysDue: true });
  });

  it('need a commit as soon as anything is staged in any place', async () => {
    await directory('one');
    const second = await directory('two');
    await stage(second);
    expect([deliveries.isEmpty, deliveries.needsCommit]).toEqual([false, true]);
    await deliveries.end({ staysDue: false });
    const other = new Deliveries(publications, 'request');
    other.addTransfer(transfer('t'));
    expect([other.isEmpty, other.needsCommit]).toEqual([false, true]);
    expect(other.id).not.toBe(deliveries.id);
  });

  it('are made due by the commit of an answer: transfers first, then an entry with what is staged', async () => {
    await directory('one');
    await stage(await directory('two'));
    deliveries.addTransfer(transfer('t'));
    expect(await deliveries.steps({ refusal: new Refusal('KEY_LOCKED') })).toEqual([]);
    await expect(deliveries.publish()).rejects.toThrow('no commit has settled its request');
    const before = Date.now();
    const steps = await deliveries.steps(answer);
    expect(steps.map(({ name }) => name)).toEqual(['finishStep', 'addPublication']);
    const due = z.looseObject({ items: z.string(), ends_at: z.number() }).parse(steps[1]?.argument);
    expect(due).toMatchObject({ id: deliveries.id, owner: 'instance', request: 'request' });
    expect(due.ends_at - before).toBeGreaterThanOrEqual(dueMs);
    expect(due.ends_at - before).toBeLessThan(dueMs + 600_000);
    expect(JSON.parse(due.items)).toMatchObject([
      { kind: 'directory', path: join(base, 'two'), mode: 0o644, files: [{ fileName: 'a', name: 'a.p7s' }] },
      { kind: 'transfer', fileID: 't'.repeat(43) },
    ]);
    await deliveries.end({ staysDue: false });
  });

  it('are published once, and then stay', async () => {
    await stage(await directory('one'));
    await stage(await directory('two'));
    deliveries.addTransfer(transfer('t'));
    await store.commit(await deliveries.steps(answer));
    expect(await deliveries.publish()).toEqual(new Map());
    expect([files(), events]).toEqual([[['a.p7s'], ['a.p7s']], ['published t']]);
    await expect(deliveries.publish()).rejects.toThrow('no commit has settled');
    await deliveries.end({ staysDue: false });
    expect([files(), events]).toEqual([
      [['a.p7s'], ['a.p7s']],
      ['published t', 'released t'],
    ]);
    expect(await store.run('findPublication', deliveries.id)).toBeUndefined();
  });

  it('that no commit was offered are removed at the end, and released', async () => {
    await stage(await directory('one'));
    for (const letter of ['t', 'u']) deliveries.addTransfer(transfer(letter));
    await deliveries.end({ staysDue: true });
    expect([files(), events]).toEqual([
      [[], []],
      ['discarded t', 'discarded u', 'released t', 'released u'],
    ]);
  });

  it.each([
    [true, [['a.p7s'], []]],
    [false, [[], []]],
  ])('that a commit has made due are published at the end, or withdrawn (due: %s)', async (staysDue, expected) => {
    await stage(await directory('one'));
    deliveries.addTransfer(transfer('t'));
    await store.commit(await deliveries.steps(answer));
    await deliveries.end({ staysDue });
    await publications.stop();
    expect([files(), events]).toEqual([expected, ['released t']]);
    expect(await store.run('findPublication', deliveries.id)).toBeUndefined();
  });
});
