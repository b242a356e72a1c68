import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { accountExtent } from '../../src/backup/account-extent.ts';
import { logExtent, PointPassed } from '../../src/backup/log-extent.ts';
import { beginning, chainedLine, entryBody, lineHash } from '../../src/audit/line.ts';
import { fileName } from '../../src/audit/file-names.ts';
import type { Entry, Place } from '../../src/audit/record.ts';
import type { SnapshotFacts } from '../../src/state/snapshot/snapshot-facts.ts';
import { accountHash, accountLine, noLine } from '../../src/token/account-files.ts';

let directory: string;
const time = '2026-03-02T10:15:30.123Z';

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'signetd-extent-'));
});

afterEach(() => {
  rmSync(directory, { recursive: true });
});

const opening: Entry = { kind: 'open', log: 'signetd', file: 1, publicKey: '' };
const committed = (request: string): Entry => ({
  ...{ kind: 'request', request, client: 'app', tenant: 'demo', spki: '', address: '', operation: 'pki/removeKey', major: 0, minor: 0 },
  effects: [{ effect: 'the key is removed' }],
});
const checkpoint = (kept: number): Entry => ({
  ...{ kind: 'checkpoint', checkpoint: { log: 'signetd', records: 1, hash: '0'.repeat(64), time }, kept, signature: '' },
  account: [{ chain: 0, n: 2, hash: '0'.repeat(64) }],
});

/** Writes a log; answers the places of its records. */
function write(...entries: readonly Entry[]): Place[] {
  return writeBehind(beginning, 1, ...entries);
}

/** Writes more of it, into a file with this number. */
function writeBehind(previous: Place, file: number, ...entries: readonly Entry[]): Place[] {
  let place = previous;
  return entries.map((entry) => {
    const line = chainedLine(place, time, entryBody(entry));
    appendFileSync(join(directory, fileName(file)), `${line}\n`);
    place = { n: place.n + 1, hash: lineHash(line) };
    return place;
  });
}

function facts(head: Place | undefined, commits: readonly string[] = []): SnapshotFacts {
  return {
    ...{ migrations: [], auditKeys: [], hasMacKey: true, macKeys: [0] },
    head: head === undefined ? undefined : { ...head, file: 1 },
    commits: new Map(commits.map((request) => [request, 1])),
  };
}

describe('the part of an audit log that belongs to a state', () => {
  it('ends before the first record with a change that the state does not have', async () => {
    const [, first, second] = write(opening, committed('a'), committed('b'), committed('c'));
    expect(await logExtent(directory, facts(first, ['b']), undefined)).toMatchObject({ last: second, later: 1 });
    expect(await logExtent(directory, facts(first), undefined)).toMatchObject({ last: first, later: 2 });
  });

  it('is the whole log if the state has all changes, without a line that is still being written', async () => {
    const places = write(opening, committed('a'));
    appendFileSync(join(directory, fileName(1)), '{"n":3,"ti');
    const { last, files } = await logExtent(directory, facts(places.at(-1)), undefined);
    expect(last).toEqual(places.at(-1));
    expect(files).toMatchObject([{ name: fileName(1) }]);
  });

  it('ends before a checkpoint that states a later place of the state', async () => {
    const [first] = write(opening, checkpoint(7));
    expect(await logExtent(directory, facts(first), undefined)).toMatchObject({ last: first, later: 1 });
  });

  it('has no checkpoint after the one that was made for the backup, whose account it names', async () => {
    const [, point] = write(opening, checkpoint(1), committed('a'));
    if (point === undefined) throw new Error('two records');
    const found = await logExtent(directory, facts(point, ['a']), { ...point, file: 1 });
    expect(found).toMatchObject({ later: 0, account: [{ chain: 0, n: 2 }] });
    rmSync(join(directory, fileName(1)));
    write(opening, checkpoint(1), checkpoint(1));
    await expect(logExtent(directory, facts(point), { ...point, file: 1 })).rejects.toThrow(PointPassed);
  });

  it('ends in an earlier file where the newest one begins with such a change', async () => {
    const places = write(opening, committed('a'));
    const end = places.at(-1) ?? beginning;
    const [next] = writeBehind(end, 2, committed('b'), committed('c'));
    const found = await logExtent(directory, facts(end), undefined);
    expect(found).toMatchObject({ last: end, later: 2, files: [{ name: fileName(1), bytes: expect.any(Number) as number }] });
    expect(found.files).toHaveLength(1);
    const both = await logExtent(directory, facts(end, ['b']), undefined);
    expect(both).toMatchObject({ last: next, later: 1, files: [{ name: fileName(1) }, { name: fileName(2) }] });
  });

  it('counts a line that cannot be read as one record', async () => {
    const damaged = (file = 1): Place => {
      appendFileSync(join(directory, fileName(file)), 'damaged\n');
      return { n: 0, hash: lineHash(Buffer.from('damaged')) };
    };
    const { hash } = damaged();
    expect((await logExtent(directory, facts(undefined), undefined)).last).toEqual({ n: 1, hash });
    rmSync(join(directory, fileName(1)));
    const places = write(opening, committed('a'), committed('b'));
    damaged();
    damaged();
    expect(await logExtent(directory, facts(places.at(-1)), undefined)).toMatchObject({ last: { n: 5, hash }, later: 0 });
    damaged(2);
    expect(await logExtent(directory, facts(places.at(-1)), undefined)).toMatchObject({ last: { n: 6, hash }, later: 0 });
  });

  it('is refused if the log lacks records that the state knows', async () => {
    const nowhere = logExtent(directory, facts({ n: 1, hash: '' }), undefined);
    await expect(nowhere).rejects.toThrow('ends at record 0, but the state store knows it up to record 1');
    const [first] = write(opening);
    await expect(logExtent(directory, facts({ n: 5, hash: first?.hash ?? '' }), undefined)).rejects.toThrow('knows it up to record 5');
  });
});

describe('the part of the account of uses that belongs to it', () => {
  it('ends with the line that the checkpoint names, in whatever file it is', async () => {
    let previous = noLine;
    const line = (n: number): string => {
      const text = accountLine(n, time, previous, '"uses":["wrong 43 1"]');
      previous = accountHash(text);
      return `${text}\n`;
    };
    writeFileSync(join(directory, 'account-0-00000001.jsonl'), line(1) + line(2));
    writeFileSync(join(directory, 'account-0-00000002.jsonl'), line(3) + line(4));
    const bytes = Buffer.byteLength(accountLine(1, time, noLine, '"uses":["wrong 43 1"]')) + 1;
    const upTo = async (n: number): Promise<number[]> =>
      (await accountExtent(directory, [{ chain: 0, n, hash: '' }])).map((file) => Math.round(file.bytes / bytes));
    expect([await upTo(1), await upTo(2), await upTo(3), await upTo(4)]).toEqual([[1], [2], [2, 1], [2, 2]]);
    expect(await accountExtent(directory, [])).toEqual([]);
    expect(await accountExtent(directory, undefined)).toHaveLength(2);
  });
});
