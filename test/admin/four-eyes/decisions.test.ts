import { execFileSync } from 'node:child_process';
import { createConnection, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { notRoot, skipNote } from '../../support/skip-note.ts';
import { daemon, games, nobody, root, sync, TwoGroups } from './two-groups.ts';

let two: TwoGroups;

beforeAll(async () => {
  if (notRoot === undefined) two = await TwoGroups.start();
});
afterAll(async () => {
  if (notRoot === undefined) await two.remove();
});

describe.skipIf(notRoot !== undefined)(`with admin.approvals: 2${skipNote(notRoot)}`, () => {
  it('a command waits for a user of the other group, and its record names both, twice in a row', async () => {
    for (const name of ['first', 'second']) {
      const given = two.give(daemon, two.addClient(name));
      const pending = await two.theOne();
      expect([pending.command, pending.uid]).toEqual(['client add', daemon.uid]);
      expect(Object.fromEntries(pending.details)).toMatchObject({
        'registers, or replaces': `the client "${name}"`,
        tenant: 'demo',
        roles: 'signature',
      });
      expect(await two.clientNames()).not.toContain(name);
      expect(await two.decide(nobody, 'approve', pending)).toMatchObject({ outcome: 'done' });
      expect(await given.answer).toMatchObject({ outcome: 'done', result: { name } });
      expect(await two.clientNames()).toContain(name);
      expect(two.recordsOf(pending.id)).toEqual([
        `approval request by ${daemon.uid}, asked by ${daemon.uid}, approved by nobody`,
        `approve by ${nobody.uid}, asked by ${daemon.uid}, approved by ${nobody.uid}`,
        `client add by ${daemon.uid}, asked by ${daemon.uid}, approved by ${nobody.uid}`,
      ]);
      expect(await two.decide(sync, 'approve', pending)).toMatchObject({ outcome: 'refused' });
    }
    expect(two.records().findLast(({ kind }) => kind === 'start')?.approvals).toBe(2);
  });

  it('nobody approves their own command, also in both groups, and no member of the first group or stranger any', async () => {
    // In both groups: it opens the one socket by its group, and is in the group of approvers.
    const given = two.give({ ...nobody, gid: daemon.gid }, two.addClient('own'));
    const pending = await two.theOne();
    expect(await two.decide(nobody, 'approve', pending)).toMatchObject({
      faults: [`user ${nobody.uid} asked for ${pending.id}: another user must decide`],
    });
    // Root opens every socket; a user whose group was forged, or was taken away, does not get through either.
    expect(await two.decide({ ...games, gid: nobody.gid }, 'approve', pending)).toMatchObject({
      faults: [expect.stringContaining(`user ${games.uid} is not in the group nogroup`)],
    });
    expect(await two.decide(daemon, 'approve', pending)).toBeUndefined();
    expect(await two.give(games, { command: 'status' }).answer).toBeUndefined();
    expect(await two.give(daemon, { command: 'approve', id: pending.id, digest: pending.digest }).answer).toMatchObject({
      outcome: 'refused',
    });
    expect(await two.giveToApprovals(nobody, two.addClient('sneaked')).answer).toMatchObject({
      faults: [expect.stringContaining('only approvals')],
    });
    expect(await two.decide(sync, 'approve', { ...pending, digest: '0'.repeat(64) })).toMatchObject({
      faults: [expect.stringContaining('another digest')],
    });
    expect(await two.clientNames()).not.toContain('own');
    expect(await two.decide(sync, 'refuse', pending)).toMatchObject({ outcome: 'done' });
    expect(await given.answer).toEqual({
      outcome: 'not approved',
      faults: [`user ${sync.uid} refused request ${pending.id}; nothing was done`],
    });
    expect(two.recordsOf(pending.id).at(-1)).toBe(`refuse by ${sync.uid}, asked by ${nobody.uid}, approved by nobody`);
    expect(await two.clientNames()).not.toContain('own');
  });

  it('a user stays the same one, whichever of their groups a process has, twice in a row', async () => {
    for (const own of [nobody, sync]) {
      const given = two.give({ ...own, gid: daemon.gid }, two.addClient('through another group'));
      const { id, digest } = await two.theOne();
      const [setpriv, reuid] = ['/usr/bin/setpriv', String(own.uid)];
      for (const [gid, groups] of [
        [nobody.gid, `${daemon.gid},${nobody.gid}`],
        [daemon.gid, `${daemon.gid},${nobody.gid}`],
      ] as const) {
        const become = ['--reuid', reuid, '--regid', String(gid), '--groups', groups];
        const command = two.commandLine('approve', id, '--digest', digest);
        expect(() => execFileSync(setpriv, [...become, ...command], { cwd: '/', env: {}, stdio: 'pipe', encoding: 'utf8' })).toThrow(
          `user ${own.uid} asked for ${id}: another user must decide`,
        );
      }
      expect(await two.decide(own === nobody ? sync : nobody, 'refuse', { id, digest })).toMatchObject({ outcome: 'done' });
      expect(await given.answer).toMatchObject({ outcome: 'not approved' });
      expect(two.recordsOf(id).map((line) => line.split(' by ')[0])).toEqual(['approval request', 'refuse']);
    }
  });

  it('root asks or approves, never both', async () => {
    const given = two.give(root, two.addClient('of root'));
    const pending = await two.theOne();
    expect(await two.decide(root, 'approve', pending)).toMatchObject({ outcome: 'refused' });
    // Also with the group of approvers, or by the socket for commands.
    expect(await two.decide({ ...root, gid: nobody.gid }, 'approve', pending)).toMatchObject({
      faults: [`user 0 asked for ${pending.id}: another user must decide`],
    });
    expect(await two.give(root, { command: 'approve', id: pending.id, digest: pending.digest }).answer).toMatchObject({
      outcome: 'refused',
    });
    expect(await two.decide(nobody, 'approve', pending)).toMatchObject({ outcome: 'done' });
    expect(await given.answer).toMatchObject({ outcome: 'done' });
    const other = two.give(daemon, two.addClient('by root'));
    expect(await two.decide(root, 'approve', await two.theOne())).toMatchObject({ outcome: 'done' });
    expect(await other.answer).toMatchObject({ outcome: 'done' });
  });

  it('two users who ask for the same have a request each, and an approval is for one of them, twice in a row', async () => {
    for (const name of ['same', 'same again']) {
      const request = two.addClient(name);
      const given = [two.give(daemon, request), two.give({ ...nobody, gid: daemon.gid }, request)];
      const pending = await two.these(2);
      const ofDaemon = pending.find(({ uid }) => uid === daemon.uid) ?? expect.unreachable();
      const ofNobody = pending.find(({ uid }) => uid === nobody.uid) ?? expect.unreachable();
      expect(ofDaemon.details).toEqual(ofNobody.details);
      expect(ofDaemon.digest).not.toBe(ofNobody.digest);
      // The digest of the one approves nothing of the other.
      expect(await two.decide(sync, 'approve', { id: ofNobody.id, digest: ofDaemon.digest })).toMatchObject({ outcome: 'refused' });
      // Who asks may approve the same command of another user, and their own goes on waiting.
      expect(await two.decide(nobody, 'approve', ofDaemon)).toMatchObject({ outcome: 'done' });
      expect(await given[0]?.answer).toMatchObject({ outcome: 'done', result: { name } });
      expect((await two.waiting()).map(({ id }) => id)).toEqual([ofNobody.id]);
      expect(await two.decide(nobody, 'approve', ofNobody)).toMatchObject({ outcome: 'refused' });
      expect(await two.decide(sync, 'refuse', ofNobody)).toMatchObject({ outcome: 'done' });
      expect(await given[1]?.answer).toMatchObject({ outcome: 'not approved' });
      expect(two.recordsOf(ofDaemon.id).at(-1)).toBe(`client add by ${daemon.uid}, asked by ${daemon.uid}, approved by ${nobody.uid}`);
      expect(two.recordsOf(ofNobody.id).at(-1)).toBe(`refuse by ${sync.uid}, asked by ${nobody.uid}, approved by nobody`);
    }
  });

  it('a user who asks twice for the same needs two approvals, and the second finds what the first has done', async () => {
    expect(await two.give(root, { command: 'client revoke', client: 'same again' }).answer).toMatchObject({ outcome: 'done' });
    const request = { ...two.addClient('once', { replace: false }), again: true };
    const given = [two.give(daemon, request), two.give(daemon, request)];
    const [first, second] = await two.these(2);
    if (first === undefined || second === undefined) expect.unreachable();
    expect(await two.decide(nobody, 'approve', first)).toMatchObject({ outcome: 'done' });
    await Promise.race(given.map(async ({ answer }) => answer));
    expect((await two.waiting()).map(({ id }) => id)).toEqual([second.id]);
    expect(await two.decide(nobody, 'approve', second)).toMatchObject({ outcome: 'done' });
    const answers = await Promise.all(given.map(async ({ answer }) => answer));
    expect(new Set(answers.map((answer) => answer?.outcome))).toEqual(new Set(['done', 'refused']));
    expect((await two.clientNames()).filter((name) => name === 'once')).toHaveLength(1);
  });

  it('of two decisions at once, one counts, and the command is done once', async () => {
    for (let round = 0; round < 5; round += 1) {
      const given = two.give(daemon, two.addClient(`round ${round}`));
      const pending = await two.theOne();
      const answers = await Promise.all([
        two.decide(nobody, 'approve', pending),
        two.decide(sync, 'refuse', pending),
        two.decide(root, 'approve', pending),
      ]);
      expect(answers.filter((answer) => answer?.outcome === 'done')).toHaveLength(1);
      const isRefused = answers[1]?.outcome === 'done';
      expect((await given.answer)?.outcome).toBe(isRefused ? 'not approved' : 'done');
      const own = two.records().filter(({ command, approval }) => command === 'client add' && approval?.id === pending.id);
      expect(own).toHaveLength(isRefused ? 0 : 1);
    }
  });

  it('an approver whose connection hangs keeps nobody out', async () => {
    const silent: Socket[] = Array.from({ length: 20 }, () => createConnection(two.approvalPath).on('error', () => undefined));
    const given = two.give(daemon, two.addClient('despite'));
    expect(await two.decide(nobody, 'approve', await two.theOne())).toMatchObject({ outcome: 'done' });
    expect(await given.answer).toMatchObject({ outcome: 'done' });
    for (const socket of silent) socket.destroy();
  });
});
