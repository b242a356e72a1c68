import { randomUUID } from 'node:crypto';
import { appendFileSync, copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { auditFileForm } from '../../../src/audit/file-names.ts';
import { chainedLine, entryBody, lineHash } from '../../../src/audit/line.ts';
import { notRoot, skipNote } from '../../support/skip-note.ts';
import { daemon, nobody, root, TwoGroups } from './two-groups.ts';

const hourMs = 3_600_000;
let two: TwoGroups;
let output: string;

beforeAll(async () => {
  if (notRoot === undefined) two = await TwoGroups.start();
});
afterAll(async () => {
  if (notRoot === undefined) await two.remove();
});
beforeEach(() => {
  output = mkdtempSync(join(tmpdir(), 'signetd-four-eyes-out-'));
});
afterEach(() => {
  rmSync(output, { recursive: true, force: true });
});

/** Asks for a confirmation and has it refused, then asks again and has it approved. Answers what was asked. */
async function refusedAndApproved(command: 'state confirm' | 'clock confirm'): ReturnType<TwoGroups['theOne']> {
  const refused = two.give(root, { command });
  expect(await two.decide(nobody, 'refuse', await two.theOne())).toMatchObject({ outcome: 'done' });
  expect((await refused.answer)?.outcome).toBe('not approved');
  const confirmed = two.give(root, { command });
  const pending = await two.theOne();
  expect(await two.decide(root, 'approve', pending)).toMatchObject({ outcome: 'refused' });
  expect(await two.decide(daemon, 'approve', pending)).toBeUndefined();
  expect(await two.decide(nobody, 'approve', pending)).toMatchObject({ outcome: 'done' });
  expect(await confirmed.answer).toMatchObject({ outcome: 'done' });
  return pending;
}

describe.skipIf(notRoot !== undefined)(`with admin.approvals: 2, before the service serves${skipNote(notRoot)}`, () => {
  it('a state store that is older than the log is confirmed only by two, twice in a row', async () => {
    for (let round = 0; round < 2; round += 1) {
      await two.service.daemon.stop();
      const { directory } = two.service.environment;
      const files = readdirSync(directory).filter((name) => /^state\.sqlite(?:-wal|-shm)?$/.test(name));
      for (const name of files) copyFileSync(join(directory, name), join(output, name));
      await two.service.daemon.start();
      const [client] = await two.clientNames();
      expect(await two.give(daemon, { command: 'client revoke', client }).answer).toMatchObject({ outcome: 'done' });
      await two.service.daemon.stop();
      for (const name of readdirSync(directory)) if (name.startsWith('state.sqlite')) rmSync(join(directory, name));
      for (const name of files) copyFileSync(join(output, name), join(directory, name));
      expect((await two.service.daemon.startAndAsk()).text).toContain('older than the audit log');
      const pending = await refusedAndApproved('state confirm');
      expect(pending.details[0]).toEqual(['accepts', expect.stringContaining('older than the audit log')]);
      expect(await two.service.daemon.ended()).toBe(0);
      await two.service.daemon.start();
      expect(two.recordsOf(pending.id)).toEqual([`state confirm by 0, asked by 0, approved by ${nobody.uid}`]);
      expect(await two.clientNames()).not.toContain(client);
    }
  });

  it('a clock that is behind the log is confirmed only by two, twice in a row', async () => {
    for (let round = 0; round < 2; round += 1) {
      await two.service.daemon.stop();
      const time = recordOfTheFuture();
      expect((await two.service.daemon.startAndAsk()).text).toContain('"clock":"the clock shows ');
      const pending = await refusedAndApproved('clock confirm');
      expect([pending.command, ...pending.details]).toEqual([
        'clock confirm',
        ['accepts', 'a clock that is behind the newest audit record'],
        ['record of', time],
      ]);
      expect(await two.service.daemon.ended()).toBe(0);
      await two.service.daemon.start();
      expect(two.recordsOf(pending.id)).toEqual([`clock confirm by 0, asked by 0, approved by ${nobody.uid}`]);
    }
  });

  it('a confirmation that waits is forgotten where the service restarts, which then waits for another, twice in a row', async () => {
    await two.service.daemon.stop();
    recordOfTheFuture();
    for (let round = 0; round < 2; round += 1) {
      expect((await two.service.daemon.startAndAsk()).status).toBe(503);
      const given = two.give(root, { command: 'clock confirm' });
      const { id, digest } = await two.theOne();
      await two.service.daemon.stop();
      expect(await given.answer).toEqual({
        outcome: 'not approved',
        faults: [`signetd is stopping; request ${id} is forgotten`],
      });
      expect((await two.service.daemon.startAndAsk()).status).toBe(503);
      expect(await two.decide(nobody, 'approve', { id, digest })).toMatchObject({ outcome: 'refused' });
      await two.service.daemon.stop();
    }
    expect((await two.service.daemon.startAndAsk()).status).toBe(503);
    await refusedAndApproved('clock confirm');
    expect(await two.service.daemon.ended()).toBe(0);
    await two.service.daemon.start();
  });
});

/** Adds a record to the log of the stopped service, as it writes it while its clock is two hours ahead. Answers its time. */
function recordOfTheFuture(): string {
  const directory = join(two.service.environment.directory, 'audit');
  const names = readdirSync(directory).filter((name) => auditFileForm.test(name));
  const file = join(directory, names.toSorted().at(-1) ?? '');
  const last = readFileSync(file, 'utf8').trimEnd().split('\n').at(-1) ?? '';
  const { n } = JSON.parse(last) as { n: number };
  const time = new Date(Date.now() + 2 * hourMs).toISOString();
  const body = entryBody({ kind: 'administration', request: randomUUID(), command: 'SIGHUP' });
  appendFileSync(file, `${chainedLine({ n, hash: lineHash(last) }, time, body)}\n`);
  return time;
}
