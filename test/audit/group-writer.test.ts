import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Chain } from '../../src/audit/chain.ts';
import { GroupWriter } from '../../src/audit/group-writer.ts';
import { beginning } from '../../src/audit/line.ts';
import type { FilePlace } from '../../src/audit/record.ts';
import { recordingLog } from '../support/silent-log.ts';
import { requestEntry, softwareSigner } from './scratch-log.ts';

/** A chain that tells how many records each write has. */
class CountingChain extends Chain {
  readonly groups: number[] = [];

  override async write(bodies: readonly string[]): Promise<FilePlace[]> {
    this.groups.push(bodies.length);
    return super.write(bodies);
  }
}

let directory: string;
let chain: CountingChain;
let writer: GroupWriter;
/** Longer than any test: a group that leaves has not waited for it. */
const farMs = 60_000;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'signetd-groups-'));
  const options = { directory, log: 'signetd', key: softwareSigner(), rotateBytes: 1 << 20 };
  chain = new CountingChain(options, { tail: beginning, file: 1, goodBytes: 0 });
  writer = new GroupWriter(chain, recordingLog(), () => undefined, farMs);
  await writer.append(requestEntry(0));
  chain.groups.length = 0;
});

afterEach(async () => {
  await writer.close();
  rmSync(directory, { recursive: true });
});

describe('a group of records', () => {
  it('leaves at once when no other record is near', async () => {
    const works = [{}, {}];
    for (const [number, work] of works.entries()) {
      writer.comesNear(work);
      writer.hasArrived(work);
      await writer.append(requestEntry(number));
    }
    expect(chain.groups).toEqual([1, 1]);
  });

  it('waits for the records that are near', async () => {
    const works = Array.from({ length: 5 }, () => ({}));
    for (const work of works) writer.comesNear(work);
    const appended: Promise<FilePlace>[] = [];
    for (const [number, work] of works.entries()) {
      writer.hasArrived(work);
      appended.push(writer.append(requestEntry(number)));
      await turn();
    }
    const places = await Promise.all(appended);
    expect(chain.groups).toEqual([5]);
    expect(places.map(({ n }) => n)).toEqual([3, 4, 5, 6, 7]);
  });

  it('leaves when the last work that was near ends without a record', async () => {
    const [kept, failing] = [{}, {}];
    writer.comesNear(kept);
    writer.comesNear(failing);
    writer.hasArrived(kept);
    const appended = writer.append(requestEntry(1));
    await turn();
    expect(chain.groups).toEqual([]);
    writer.hasArrived(failing);
    await appended;
    expect(chain.groups).toEqual([1]);
  });

  it('does not wait for ever for work that does not come', async () => {
    writer = new GroupWriter(chain, recordingLog(), () => undefined);
    writer.comesNear({});
    await writer.append(requestEntry(1));
    await writer.append(requestEntry(2));
    expect(chain.groups).toEqual([1, 1]);
    const lines = readFileSync(join(directory, 'audit-00000001.jsonl'), 'utf8').trimEnd().split('\n');
    expect(lines).toHaveLength(4);
  });

  it('does not wait at all for work that has taken long already', async () => {
    writer.comesNear({});
    await delay(30);
    await writer.append(requestEntry(1));
    expect(chain.groups).toEqual([1]);
  });

  it('is written before the log is closed', async () => {
    writer.comesNear({});
    const appended = writer.append(requestEntry(1));
    await writer.close();
    expect((await appended).n).toBe(3);
  });
});
