import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { OutputDirectory } from '../../../src/documents/paths/output-directory.ts';
import { StagedNames } from '../../../src/documents/paths/staged-names.ts';
import { Publications } from '../../../src/documents/publications.ts';
import type { Ending } from '../../../src/http/api/recorded.ts';
import { RequestRuns } from '../../../src/http/api/request-runs.ts';
import { Refusal } from '../../../src/result-codes.ts';
import { outcomeSteps, settlementIsNeeded } from '../../../src/state/settlement.ts';
import type { StateStore } from '../../../src/state/state-store.ts';
import { openSqliteStore } from '../../../src/state/threaded-store.ts';
import type { Step, StepResults } from '../../../src/state/step.ts';
import { StoreUnavailable } from '../../../src/state/store-unavailable.ts';
import { recordingLog } from '../../support/silent-log.ts';
import { StoreAround } from '../../support/store-around.ts';

/** Lets a test say how commits end. */
class FatefulStore extends StoreAround {
  fate: 'done' | 'refused' | 'unknown' | 'away' = 'done';

  async commit<const S extends readonly Step[]>(steps: S): Promise<StepResults<S>> {
    if (this.fate === 'refused') throw new Error('somebody else was faster');
    if (this.fate === 'away') throw new StoreUnavailable('a test');
    const results = await this.store.commit(steps);
    if (this.fate === 'unknown') throw new StoreUnavailable('a test, after the commit');
    return results;
  }
}

let base: string;
let directory: string;
let store: FatefulStore;
let publications: Publications;
let unrecorded: Set<string>;
const names = new StagedNames('test');
const log = recordingLog();

const parts = (of: StateStore): Parameters<typeof Publications.open>[0] => ({
  ...{ store: of, owner: 'test', names, transfers: undefined, log, writeDirectories: () => [directory] },
  isRecorded: (request) => !unrecorded.has(request),
});

beforeEach(async () => {
  base = mkdtempSync(join(tmpdir(), 'signetd-runs-'));
  directory = join(base, 'out');
  mkdirSync(directory);
  unrecorded = new Set();
  store = new FatefulStore(await openSqliteStore(join(base, 'state.sqlite')));
  publications = await Publications.open(parts(store));
});

afterEach(async () => {
  store.fate = 'done';
  await publications.stop();
  await store.close();
  rmSync(base, { recursive: true });
});

/** A run that stages a file and settles its request. */
async function deliver(runs: RequestRuns, { settles = true } = {}): Promise<Ending> {
  const answer = await runs.run(async ({ deliveries }) => {
    const output = await OutputDirectory.open(directory, [directory], { names, at: '/x', mode: 0o644 });
    deliveries.addDirectory(output);
    const name = await output.stage({ fileName: 'contract', ending: '.p7s' }, async (file) => {
      await file.writeFile('evidence');
      await file.sync();
    });
    expect(settlementIsNeeded()).toBe(true);
    const value = { evidence: [{ fileName: name, filePathData: { filePath: output.pathOf(name) } }] };
    if (settles) await store.commit(await outcomeSteps({ answer: value }));
    return value;
  });
  return { result: { major: 0, minor: 0, message: '' }, answer, echo: {} };
}

it('says in the message of a success what the last run noted', async () => {
  const runs = new RequestRuns(publications, 'request-1');
  const noting = async (...words: string[]): Promise<string> => {
    await runs.run(async ({ notices }) => {
      notices.push(...words);
      return Promise.resolve({});
    });
    return runs.success.message;
  };
  expect(await noting('one', 'two')).toBe('one; two');
  expect(await noting()).toBe('success');
  expect(runs.success).toMatchObject({ major: 0, minor: 0 });
});

const finalFiles = (): string[] => readdirSync(directory).filter((name) => !name.startsWith('.signetd.'));

describe('evidence that a request delivers outside of its answer', () => {
  it('is read by the service alone until it is published, which takes the commit that settles the request', async () => {
    const runs = new RequestRuns(publications, 'request-1');
    const ending = await deliver(runs);
    expect(runs.publication).toBeDefined();
    expect(finalFiles()).toEqual([]);
    expect(readdirSync(directory).map((name) => statSync(join(directory, name)).mode & 0o777)).toEqual([0o600]);
    expect(await runs.publish(ending)).toEqual(ending);
    await runs.end({ outlivesAnswer: false }, log);
    expect(readdirSync(directory)).toEqual(['contract.p7s']);
    expect(readFileSync(join(directory, 'contract.p7s'), 'utf8')).toBe('evidence');
    expect(await store.run('duePublications', undefined)).toEqual([]);
  });

  it('is not published if no commit has settled the request', async () => {
    const runs = new RequestRuns(publications, 'request-1');
    const ending = await deliver(runs, { settles: false });
    await expect(runs.publish(ending)).rejects.toThrow('no commit has settled its request');
    await runs.end({ outlivesAnswer: true }, log);
    expect(readdirSync(directory)).toEqual([]);
  });

  it('is deleted if the request is refused after its commit', async () => {
    const runs = new RequestRuns(publications, 'request-1');
    await deliver(runs);
    await runs.end({ outlivesAnswer: false }, log);
    expect(readdirSync(directory)).toEqual([]);
    expect(await store.run('duePublications', undefined)).toEqual([]);
  });

  it('is deleted if the commit is refused, for example because another instance was faster', async () => {
    const runs = new RequestRuns(publications, 'request-1');
    store.fate = 'refused';
    await expect(deliver(runs)).rejects.toThrow('somebody else');
    store.fate = 'done';
    await runs.end({ outlivesAnswer: true }, log);
    await expect.poll(() => readdirSync(directory)).toEqual([]);
  });

  it('is published for a repetition once the record of its request is written', async () => {
    const runs = new RequestRuns(publications, 'request-1');
    unrecorded.add('request-1');
    await deliver(runs);
    const { publication = '' } = runs;
    await runs.end({ outlivesAnswer: true }, log);
    expect(finalFiles()).toEqual([]);
    unrecorded.clear();
    expect(await publications.renamed(publication)).toEqual(new Map());
    await expect.poll(() => readdirSync(directory)).toEqual(['contract.p7s']);
  });

  it.each([
    [true, ['contract.p7s']],
    [false, []],
  ])('is where the commit says, though nobody was told how it ended (a repetition is answered: %s)', async (outlivesAnswer, expected) => {
    const runs = new RequestRuns(publications, 'request-1');
    store.fate = 'unknown';
    await expect(deliver(runs)).rejects.toThrow(StoreUnavailable);
    store.fate = 'away';
    await runs.end({ outlivesAnswer }, log);
    expect(finalFiles()).toEqual([]);
    store.fate = 'done';
    await expect.poll(() => readdirSync(directory), { timeout: 10_000 }).toEqual(expected);
    await expect.poll(async () => store.run('duePublications', undefined)).toEqual([]);
  });

  it('is published by the next start, and not before the record is there', async () => {
    const runs = new RequestRuns(publications, 'request-1');
    await deliver(runs);
    await publications.stop();
    // A crash: nobody ended the run.
    unrecorded.add('request-1');
    const second = await Publications.open(parts(store));
    expect(finalFiles()).toEqual([]);
    await names.removeLeft([directory], log);
    await second.stop();
    unrecorded.clear();
    const third = await Publications.open(parts(store));
    expect(readdirSync(directory)).toEqual(['contract.p7s']);
    await third.stop();
    await runs.end({ outlivesAnswer: true }, log);
  });

  it('gets a name that is free by then, which the answer states, also a repeated one', async () => {
    const runs = new RequestRuns(publications, 'request-1');
    const ending = await deliver(runs);
    const other = new RequestRuns(publications, 'request-2');
    const { publication = '' } = runs;
    // The other process does not know what is planned here.
    const outsider = new StagedNames('outsider');
    const output = await OutputDirectory.open(directory, [directory], { names: outsider, at: '/x', mode: 0o644 });
    await output.stage({ fileName: 'contract', ending: '.p7s' }, async (file) => file.writeFile('of somebody else'));
    await output.publish();
    await output.clear();
    await output.close();
    await other.end({ outlivesAnswer: false }, log);
    const path = join(directory, 'contract (1).p7s');
    expect(await runs.publish(ending)).toMatchObject({
      answer: { evidence: [{ fileName: 'contract (1).p7s', filePathData: { filePath: path } }] },
    });
    await runs.end({ outlivesAnswer: true }, log);
    expect(readFileSync(path, 'utf8')).toBe('evidence');
    expect(await publications.renamed(publication)).toEqual(new Map([[join(directory, 'contract.p7s'), path]]));
  });

  it('stays due while it cannot be published, and is published once it can', async () => {
    const runs = new RequestRuns(publications, 'request-1');
    const ending = await deliver(runs);
    store.fate = 'away';
    await expect(runs.publish(ending)).rejects.toThrow(StoreUnavailable);
    await runs.end({ outlivesAnswer: false }, log);
    store.fate = 'done';
    await expect.poll(() => readdirSync(directory), { timeout: 10_000 }).toEqual(['contract.p7s']);
    await expect.poll(async () => store.run('duePublications', undefined), { timeout: 10_000 }).toEqual([]);
  });

  it('settles nothing for a refusal', async () => {
    const runs = new RequestRuns(publications, 'request-1');
    await runs.run(async () => {
      expect(await outcomeSteps({ refusal: new Refusal('ACTIVATION_FAILED') })).toEqual([]);
      return {};
    });
    await runs.end({ outlivesAnswer: false }, log);
  });
});
