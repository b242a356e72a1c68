import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { notRoot, skipNote } from '../../support/skip-note.ts';
import { until } from '../../support/until.ts';
import { daemon, nobody, TwoGroups } from './two-groups.ts';

const patience = { timeoutMs: 120_000 };
let two: TwoGroups;
let output: string;

async function startFor(approvalMinutes?: number): Promise<void> {
  if (notRoot === undefined) two = await TwoGroups.start(approvalMinutes === undefined ? {} : { approvalMinutes });
}
async function remove(): Promise<void> {
  if (notRoot === undefined) await two.remove();
}

beforeEach(() => {
  output = mkdtempSync(join(tmpdir(), 'signetd-four-eyes-out-'));
});
afterEach(() => {
  rmSync(output, { recursive: true, force: true });
});

const certify = (file: string): string[] => [
  ...['ca', 'certify', '--authority', 'issuing', '--by', 'root', '--directory', output, '--file', file],
];

describe.skipIf(notRoot !== undefined)(`a command that waits${skipNote(notRoot)}`, () => {
  beforeAll(async () => startFor());
  afterAll(remove);

  it('is withdrawn where its user goes away, and nothing is done, twice in a row', async () => {
    for (const name of ['withdrawn', 'withdrawn again']) {
      const given = two.give(daemon, two.addClient(name));
      const pending = await two.theOne();
      given.kill();
      await two.these(0);
      expect(await two.decide(nobody, 'approve', pending)).toMatchObject({
        faults: [`no request ${pending.id} waits for approval; see signetctl approvals`],
      });
      await until(() => {
        expect(two.recordsOf(pending.id).at(-1)).toBe(`approval withdrawn by ${daemon.uid}, asked by ${daemon.uid}, approved by nobody`);
      }, patience);
      expect(await two.clientNames()).not.toContain(name);
    }
  });

  it('is forgotten where the service restarts, and ends with 9, twice in a row', { timeout: 400_000 }, async () => {
    for (let round = 0; round < 2; round += 1) {
      const run = two.asRoot(...certify('restarted.pem'));
      const { id, digest } = await two.theOne();
      await two.service.daemon.stop();
      const { status, stderr } = await run;
      expect([status, stderr]).toEqual([9, expect.stringContaining(`signetd is stopping; request ${id} is forgotten`)]);
      await two.service.daemon.start();
      expect(await two.waiting()).toEqual([]);
      expect(await two.decide(nobody, 'approve', { id, digest })).toMatchObject({ outcome: 'refused' });
      expect(two.recordsOf(id).at(-1)).toContain('approval withdrawn');
      expect(readdirSync(output)).toEqual([]);
    }
  });

  it(
    'is forgotten where the service is killed, and the next one takes the command again, twice in a row',
    { timeout: 400_000 },
    async () => {
      for (const file of ['killed.pem', 'killed-again.pem']) {
        const run = two.asRoot(...certify(file));
        const { id, digest } = await two.theOne();
        await two.service.daemon.kill();
        const { status, stderr } = await run;
        expect([status, stderr]).toEqual([6, expect.stringContaining('signetd closed the connection without an answer')]);
        expect(readdirSync(output)).not.toContain(file);
        await two.service.daemon.start();
        expect(await two.waiting()).toEqual([]);
        expect(await two.decide(nobody, 'approve', { id, digest })).toMatchObject({ outcome: 'refused' });
        const again = two.asRoot(...certify(file));
        await two.decide(nobody, 'approve', await two.theOne());
        expect((await again).status).toBe(0);
        expect(readdirSync(output)).toContain(file);
        expect(two.recordsOf(id)).toEqual(['approval request by 0, asked by 0, approved by nobody']);
      }
    },
  );
});

describe.skipIf(notRoot !== undefined)(`a command that nobody approves in time${skipNote(notRoot)}`, () => {
  const approvalMinutes = 0.02;
  beforeAll(async () => startFor(approvalMinutes));
  afterAll(remove);

  it('is not done, ends with 9, and cannot be approved later, twice in a row', { timeout: 400_000 }, async () => {
    for (const file of ['late.pem', 'later.pem']) {
      const { status, stderr } = await two.asRoot(...certify(file));
      const id = /signetctl approve (\w+)/.exec(stderr)?.[1] ?? 'no request';
      expect([status, stderr]).toEqual([
        9,
        expect.stringContaining(`nobody approved request ${id} within ${approvalMinutes} minutes; nothing was done`),
      ]);
      expect(readdirSync(output)).toEqual([]);
      expect(await two.decide(nobody, 'approve', { id, digest: '0'.repeat(64) })).toMatchObject({
        faults: [`no request ${id} waits for approval; see signetctl approvals`],
      });
      expect(two.recordsOf(id)).toEqual([
        'approval request by 0, asked by 0, approved by nobody',
        'approval expired by 0, asked by 0, approved by nobody',
      ]);
    }
  });
});
