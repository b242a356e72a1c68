import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { loadTokenConfig } from '../../../src/config/config.ts';
import { notRoot, skipNote } from '../../support/skip-note.ts';
import { approvedOnce, daemon, nobody, TwoGroups } from './two-groups.ts';

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

describe.skipIf(notRoot !== undefined)(`with admin.approvals: 2${skipNote(notRoot)}`, () => {
  it('what reads, or ends rights, waits for nobody', async () => {
    const given = two.give(daemon, two.addClient('to be revoked'));
    await two.decide(nobody, 'approve', await two.theOne());
    await given.answer;
    for (const request of [
      { command: 'client list' },
      { command: 'key list' },
      { command: 'client revoke', client: 'to be revoked' },
      { command: 'client reload' },
    ])
      expect(await two.give(daemon, request).answer).toMatchObject({ outcome: 'done' });
  });

  it('removing records of the audit log waits', async () => {
    const given = two.give(daemon, { command: 'audit prune', before: 1000 });
    const pending = await two.theOne();
    expect(pending.details).toEqual([['removes', 'all files of the audit log whose records are older than 1970-01-01T00:00:01.000Z']]);
    await two.decide(nobody, 'approve', pending);
    expect(await given.answer).toMatchObject({ outcome: 'done' });
  });

  it('a new MAC key waits for nobody, and destroying the former one for a second user, who may refuse', async () => {
    expect(await two.give(daemon, { command: 'mac rotate' }).answer).toMatchObject({ outcome: 'done' });
    const given = two.give(daemon, { command: 'mac destroy', force: true });
    const pending = await two.theOne();
    expect([pending.command, ...pending.details.map(([, what]) => what)]).toEqual([
      'mac destroy-former',
      'the former MAC keys on the token',
      'yes: those secrets are lost',
    ]);
    await two.decide(nobody, 'refuse', pending);
    expect(await given.answer).toMatchObject({ outcome: 'not approved' });
  });
});

describe.skipIf(notRoot !== undefined)(`signetctl with admin.approvals: 2${skipNote(notRoot)}`, () => {
  const certify = (file: string): string[] => [
    ...['ca', 'certify', '--authority', 'issuing', '--by', 'root', '--directory', output, '--file', file],
  ];

  it('signs a CA certificate once the very certificate is approved, twice in a row', { timeout: 400_000 }, async () => {
    for (const file of ['one.pem', 'two.pem']) {
      const run = two.asRoot(...certify(file));
      const { id, digest, details } = await two.theOne();
      const shown = Object.fromEntries(details);
      expect(shown).toMatchObject({ signs: 'a certificate', subject: expect.stringContaining('CN=') as unknown });
      expect(shown['with the key']).toContain('(CA root)');
      expect(readdirSync(output)).not.toContain(file);
      const listed = await two.as(nobody, 'approvals');
      expect(listed.stdout).toContain(id);
      expect(listed.stdout).toContain(shown['serial number'] ?? 'absent');
      const approved = await two.as(nobody, 'approve', id, '--digest', digest);
      expect([approved.status, approved.stdout, approved.stderr]).toEqual([0, `Request ${id} is approved.\n`, '']);
      const { status, stderr, stdout } = await run;
      expect([status, stderr]).toEqual([0, expect.stringContaining(`runs: signetctl approve ${id}`)]);
      expect(stdout).toContain((shown['serial number'] ?? 'absent').replace(/^00/, ''));
      expect(two.recordsOf(id).at(-1)).toBe(`ca certify by 0, asked by 0, approved by ${nobody.uid}`);
    }
  });

  it('ends with 9 and leaves nothing where a user refuses', async () => {
    const run = two.asRoot(...certify('refused.pem'));
    const { id, digest } = await two.theOne();
    expect((await two.as(nobody, 'refuse', id, '--digest', digest)).status).toBe(0);
    const refused = await run;
    expect([refused.status, refused.stderr]).toEqual([9, expect.stringContaining(`user ${nobody.uid} refused request ${id}`)]);
    expect(readdirSync(output)).toEqual([]);
  });

  it('gives a key its purpose, and destroys it, by an approval each, twice in a row', { timeout: 400_000 }, async () => {
    for (const digit of ['a', 'b']) {
      const before = `53${digit.repeat(32)}`;
      const keyId = `49${digit.repeat(32)}`;
      makeOldKey(before);
      const purpose = await approvedOnce(two, two.asRoot('token', 'purpose', '--key-id', before, '--purpose', 'authority'));
      expect([purpose.command, ...purpose.details]).toEqual([
        'token purpose',
        ['changes', `the purpose of the key ${before} (not in the configuration)`],
        ['to', 'authority'],
      ]);
      expect(two.recordsOf(purpose.id).at(-1)).toBe(`token purpose by 0, asked by 0, approved by ${nobody.uid}`);
      const refused = two.asRoot('token', 'destroy-key', '--key-id', keyId);
      await two.decide(nobody, 'refuse', await two.theOne());
      expect((await refused).status).toBe(9);
      expect(await keysOnToken()).toContain(keyId);
      const destroyed = await approvedOnce(two, two.asRoot('token', 'destroy-key', '--key-id', keyId));
      expect([destroyed.command, ...destroyed.details]).toEqual([
        'token destroy-key',
        ['destroys, for good', `the key ${keyId} (not in the configuration)`],
      ]);
      expect(two.recordsOf(destroyed.id).at(-1)).toBe(`token destroy-key by 0, asked by 0, approved by ${nobody.uid}`);
      expect(await keysOnToken()).not.toContain(keyId);
    }
  });

  it('leaves a key without a purpose where a user refuses it, twice in a row', { timeout: 400_000 }, async () => {
    const before = `53${'c'.repeat(32)}`;
    makeOldKey(before);
    for (let round = 0; round < 2; round += 1) {
      const run = two.asRoot('token', 'purpose', '--key-id', before, '--purpose', 'root');
      await two.decide(nobody, 'refuse', await two.theOne());
      expect((await run).status).toBe(9);
      expect(await keysOnToken()).toContain(before);
    }
  });

  it('refuses, with the service stopped, what nobody could approve', { timeout: 400_000 }, async () => {
    await two.service.daemon.stop();
    try {
      const files = ['--directory', output, '--name', 'alone', '--country', 'FR', '--organization', 'O', '--common-name', 'Alone'];
      for (const command of [certify('alone.pem'), ['ca', 'issue', '--by', 'root', ...files], ['ca', 'request', ...files]]) {
        const { status, stderr } = await two.asRoot(...command);
        expect([status, stderr]).toEqual([9, expect.stringContaining('must be approved by another user (admin.approvals)')]);
      }
      expect(readdirSync(output)).toEqual([]);
    } finally {
      await two.service.daemon.start();
    }
  });
});

/** Makes a key as versions did whose keys had no purpose. */
function makeOldKey(id: string): void {
  const { label, environment } = loadTokenConfig(two.service.description.configFile);
  const pin = readFileSync(join(two.service.environment.directory, 'token/pin'), 'utf8').trim();
  execFileSync(
    'pkcs11-tool',
    [
      ...['--module', '/usr/lib/softhsm/libsofthsm2.so', '--login', '--pin', pin, '--token-label', label],
      ...['--keypairgen', '--key-type', 'EC:prime256v1', '--id', id],
    ],
    { env: { ...process.env, ...environment }, stdio: 'ignore' },
  );
}

async function keysOnToken(): Promise<string> {
  const { stdout } = await two.asRoot('--json', 'token', 'inventory');
  return stdout;
}
