import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { notRoot, skipNote } from '../../support/skip-note.ts';
import { keys, Terminal } from '../../support/terminal.ts';
import { until } from '../../support/until.ts';
import { daemon, games, nobody, root, TwoGroups } from './two-groups.ts';

let two: TwoGroups;

beforeAll(async () => {
  if (notRoot === undefined) two = await TwoGroups.start();
});
afterAll(async () => {
  if (notRoot === undefined) await two.remove();
});

/** An approver at the question. */
async function askedAbout(id: string, command: 'approve' | 'refuse'): Promise<Terminal> {
  const terminal = new Terminal(two.commandLine(command, id), nobody);
  await terminal.shows(`${command === 'approve' ? 'Approve' : 'Refuse'} this? (yes or no) `);
  return terminal;
}

describe.skipIf(notRoot !== undefined)(`at a terminal${skipNote(notRoot)}`, () => {
  it('approve shows the command and asks, and a yes approves, twice in a row', async () => {
    for (const name of ['typed', 'typed again']) {
      const given = two.give(daemon, two.addClient(name));
      const { id, digest, details } = await two.theOne();
      const terminal = await askedAbout(id, 'approve');
      expect(terminal.shown).toMatch(new RegExp(`command: +client add, given by user ${daemon.uid} at `));
      for (const text of [digest, ...details.flat()]) expect(terminal.shown).toContain(text);
      expect(await two.clientNames()).not.toContain(name);
      terminal.type(`yes${keys.enter}`);
      expect([await terminal.ended, terminal.shown]).toEqual([0, expect.stringContaining(`Request ${id} is approved.`)]);
      expect(await given.answer).toMatchObject({ outcome: 'done', result: { name } });
    }
  });

  it('refuse shows the command and asks, and a yes refuses, twice in a row', async () => {
    for (const name of ['refused', 'refused again']) {
      const given = two.give(daemon, two.addClient(name));
      const { id, digest } = await two.theOne();
      const terminal = await askedAbout(id, 'refuse');
      expect(terminal.shown).toContain(digest);
      terminal.type(`yes${keys.enter}`);
      expect([await terminal.ended, terminal.shown]).toEqual([0, expect.stringContaining(`Request ${id} is refused.`)]);
      expect(await given.answer).toMatchObject({ outcome: 'not approved' });
    }
  });

  it.each([
    ['no', `no${keys.enter}`, 5, 'nothing was decided: the answer was not yes'],
    ['y', `y${keys.enter}`, 5, 'nothing was decided: the answer was not yes'],
    ['YES', `YES${keys.enter}`, 5, 'nothing was decided: the answer was not yes'],
    ['an empty line', keys.enter, 5, 'nothing was decided: the answer was not yes'],
    ['Ctrl-C', keys.controlC, 130, 'interrupted: nothing was decided'],
    ['yes and Ctrl-C', `yes${keys.controlC}`, 130, 'interrupted: nothing was decided'],
    ['Ctrl-D', keys.controlD, 130, 'interrupted: nothing was decided'],
  ])('%s decides nothing, and the command goes on waiting', async (_typed, typed, exitCode, message) => {
    const given = two.give(daemon, two.addClient('undecided'));
    const { id } = await two.theOne();
    for (const command of ['approve', 'refuse'] as const) {
      const terminal = await askedAbout(id, command);
      terminal.type(typed);
      expect([await terminal.ended, terminal.shown]).toEqual([exitCode, expect.stringContaining(`signetctl: ${message}\n`)]);
    }
    expect((await two.waiting()).map((one) => one.id)).toEqual([id]);
    given.kill();
    await two.these(0);
  });

  it('a yes that comes after the command was withdrawn, or decided by another, decides nothing', async () => {
    for (const endedBy of ['its user', 'another approver']) {
      const given = two.give(daemon, two.addClient('too late'));
      const { id, digest } = await two.theOne();
      const terminal = await askedAbout(id, 'approve');
      if (endedBy === 'its user') given.kill();
      else await two.decide(root, 'refuse', { id, digest });
      await two.these(0);
      terminal.type(`yes${keys.enter}`);
      expect([await terminal.ended, terminal.shown]).toEqual([5, expect.stringContaining(`no request ${id} waits for approval`)]);
      expect(await two.clientNames()).not.toContain('too late');
    }
  });

  it('who may not decide is not asked', async () => {
    const given = two.give(daemon, two.addClient('not theirs'));
    const { id } = await two.theOne();
    for (const user of [games, daemon]) {
      const terminal = new Terminal(two.commandLine('approve', id), user);
      expect([await terminal.ended, terminal.shown]).toEqual([6, expect.stringContaining('permission denied')]);
      expect(terminal.shown).not.toContain('yes or no');
    }
    given.kill();
    await two.these(0);
  });

  it('Ctrl-C withdraws a command that waits, which ends with 130 and leaves nothing, twice in a row', { timeout: 400_000 }, async () => {
    const output = mkdtempSync(join(tmpdir(), 'signetd-four-eyes-out-'));
    const temporary = mkdtempSync(join(tmpdir(), 'signetd-four-eyes-tmp-'));
    for (const file of ['interrupted.pem', 'interrupted-again.pem']) {
      const certify = ['ca', 'certify', '--authority', 'issuing', '--by', 'root', '--directory', output, '--file', file];
      const terminal = new Terminal(two.rootCommandLine(...certify), root, { TMPDIR: temporary });
      await terminal.shows('who runs: signetctl approve ');
      const { id } = await two.theOne();
      expect(readdirSync(temporary)).toEqual([expect.stringMatching(/^signetd-operator-/)]);
      terminal.type(keys.controlC);
      expect([await terminal.ended, terminal.shown]).toEqual([
        130,
        expect.stringContaining('signetctl: interrupted: the request for approval is withdrawn, and nothing was done\n'),
      ]);
      await until(
        () => {
          expect(two.recordsOf(id).at(-1)).toBe('approval withdrawn by 0, asked by 0, approved by nobody');
        },
        { timeoutMs: 60_000 },
      );
      expect(await two.waiting()).toEqual([]);
      expect(readdirSync(output)).toEqual([]);
      expect(readdirSync(temporary)).toEqual([]);
    }
    for (const directory of [output, temporary]) rmSync(directory, { recursive: true });
  });
});

describe.skipIf(notRoot !== undefined)(`without a terminal${skipNote(notRoot)}`, () => {
  it('approve takes the digest, and says what is wrong', async () => {
    const given = two.give(daemon, two.addClient('asked'));
    const { id } = await two.theOne();
    const blind = await two.as(nobody, 'approve', id);
    expect([blind.status, blind.stderr]).toEqual([2, expect.stringContaining('look at signetctl approvals, and give --digest')]);
    expect((await two.as(nobody, 'approve', 'aaaaaaaa', '--digest', '0'.repeat(64))).status).toBe(5);
    expect((await two.as(nobody, 'approve', id, '--digest', 'short')).status).toBe(2);
    given.kill();
    await two.these(0);
  });
});
