import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { BackupFault } from '../../src/backup/encrypted-file.ts';
import { decrypterWith } from '../../src/backup/operator-keys.ts';
import { readBackup } from '../../src/backup/read-backup.ts';
import { shellBlocks } from '../docs/shell-blocks.ts';
import { newCertificate, OwnService } from '../support/own-service.ts';
import { jsonOf, signetctl, type CommandRun } from '../support/signetctl.ts';
import { deletePrivateKey } from '../support/token-listing.ts';
import { Operator } from './operator.ts';

/** Files that no backup has: secrets, and what belongs to the quickstart or to the token alone. */
const secrets = ['tls/server.key', 'token/pin', 'gateways/smtp-password', 'gateways/sms-token'];

const Created = z.object({ keyReference: z.object({ reference: z.string(), password: z.string() }) });
type Key = z.output<typeof Created>['keyReference'];
const separator = '---- end of a block ----';
const digest = { digestAlgOID: '2.16.840.1.101.3.4.2.1', digestValue: createHash('sha256').update('x').digest('base64') };
const Signed = z.object({ result: z.object({ resultMajor: z.number(), resultMinor: z.number() }) });

let service: OwnService;
let operator: Operator;
let backup: string;
let sha256: string;
let kept: Key;
let lost: Key;

const ctl = async (...args: string[]): Promise<CommandRun> => signetctl(['--config', service.description.configFile, ...args]);
const newKey = async (): Promise<Key> =>
  Created.parse(JSON.parse(await service.post('pki/createCertificate', newCertificate()))).keyReference;
async function sign(keyReference: Key): Promise<string> {
  const body = { keyReference, parameters: { rawSignature: {} }, inputDocuments: [{ ID: 'd', digest }] };
  const { resultMajor, resultMinor } = Signed.parse(JSON.parse(await service.post('signature/sign', body))).result;
  return `${resultMajor}/${resultMinor}`;
}

async function keyId({ reference }: Key): Promise<string> {
  return z.object({ tokenId: z.string() }).parse(jsonOf(await ctl('--json', 'key', 'show', reference))).tokenId;
}

/** Callers that sign, create and remove keys until they are told to end; answers the number of requests. */
function load(): { end(): Promise<number> } {
  const ending = new AbortController();
  const caller = async (): Promise<number> => {
    let requests = 0;
    for (; !ending.signal.aborted; requests += 1) {
      expect(await sign(kept)).toBe('0/0');
      if (requests % 10 !== 0) continue;
      const key = await newKey();
      await service.post('pki/removeKey', { keyReference: key });
    }
    return requests;
  };
  const callers = Array.from({ length: 6 }, async () => caller());
  return {
    async end() {
      ending.abort();
      return (await Promise.all(callers)).reduce((sum, requests) => sum + requests, 0);
    },
  };
}

beforeAll(async () => {
  operator = new Operator();
  service = await OwnService.start();
  [kept, lost] = await Promise.all([newKey(), newKey()]);
  backup = operator.file('backup.age');
  const callers = load();
  const made = await ctl('--json', 'backup', 'create', '--output', backup, '--recipient', operator.recipient, '--transfer-store');
  expect(await callers.end()).toBeGreaterThan(20);
  expect(made).toMatchObject({ status: 0 });
  ({ sha256 } = z.object({ sha256: z.string() }).parse(jsonOf(made)));
});

afterAll(async () => {
  await service.remove();
  operator.remove();
});

describe('a backup that was made while requests were running', () => {
  it('is whole, and its state, audit log and account of uses belong together', async () => {
    const verified = await signetctl(['--json', 'backup', 'verify', backup, '--identity', operator.identity, '--sha256', sha256]);
    expect([verified.status, jsonOf(verified)]).toEqual([
      0,
      expect.objectContaining({
        intact: true,
        faults: [],
        account: expect.objectContaining({ unrecordedCount: 0, bad: [] }) as unknown,
      }),
    ]);
  });

  it('is only for its owner, and is read by age, tar and sha256sum, with all that its manifest names and no secret', () => {
    expect(statSync(backup).mode & 0o777).toBe(0o600);
    const said = operator.unpacked(
      backup,
      `jq -r '.parts[] | "\\(.sha256)  \\(.name)"' manifest.json | sha256sum --check --strict --quiet; find . -type f | wc -l; jq '.parts | length' manifest.json`,
    );
    const [files, parts] = said.trim().split('\n').map(Number);
    expect(files).toBe((parts ?? 0) + 1);
    const content = operator.unpacked(backup, 'cat $(find . -type f) | base64 -w0');
    const bytes = Buffer.from(content, 'base64').toString('latin1');
    for (const secret of [...secrets.map((name) => readFileSync(join(service.environment.directory, name), 'latin1')), kept.password])
      expect(bytes.includes(secret.trim())).toBe(false);
  });

  it('is in the audit log, with its digest', () => {
    const log = join(service.environment.directory, 'audit', 'audit-00000001.jsonl');
    const commands = readFileSync(log, 'utf8')
      .split('\n')
      .filter((line) => line.includes('"command":"backup'));
    expect(commands).toHaveLength(2);
    expect(commands[1]).toContain(`"digests":["sha256:${sha256}"]`);
  });

  it('is never overwritten, and left nothing beside it', async () => {
    const again = await ctl('backup', 'create', '--output', backup, '--recipient', operator.recipient);
    expect([again.status, again.stderr]).toEqual([5, `signetctl: ${backup}: the file exists, and is not overwritten\n`]);
    expect(readdirSync(operator.directory).toSorted()).toEqual(['backup.age', 'key.txt']);
    expect(readdirSync(service.environment.directory).filter((name) => name.includes('.backup'))).toEqual([]);
  });

  it('is refused with one byte changed anywhere, cut off, continued, or with another key', async () => {
    const bytes = readFileSync(backup);
    const damaged = operator.file('damaged.age');
    const reading = async (identity = operator.identity): Promise<unknown> =>
      readBackup(
        { path: damaged, decrypter: decrypterWith(identity), sha256: undefined },
        async () => Promise.resolve(),
        () => undefined,
      );
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.integer({ min: 0, max: 400 }), fc.integer({ min: 0, max: bytes.length - 1 })),
        fc.integer({ min: 1, max: 255 }),
        async (position, change) => {
          const copy = Buffer.from(bytes);
          copy[position] = (copy[position] ?? 0) ^ change;
          writeFileSync(damaged, copy);
          await expect(reading()).rejects.toThrow(BackupFault);
        },
      ),
      { numRuns: 60 },
    );
    for (const wrong of [
      bytes.subarray(0, bytes.length - 1),
      bytes.subarray(0, 100_000),
      Buffer.concat([bytes, Buffer.of(0)]),
      Buffer.alloc(0),
    ]) {
      writeFileSync(damaged, wrong);
      await expect(reading()).rejects.toThrow(BackupFault);
    }
    writeFileSync(damaged, bytes);
    const stranger = new Operator();
    await expect(reading(stranger.identity)).rejects.toThrow('not encrypted to this key');
    stranger.remove();
    const exchanged = { path: damaged, decrypter: decrypterWith(operator.identity), sha256: '0'.repeat(64) };
    const rereading = readBackup(
      exchanged,
      async () => Promise.resolve(),
      () => undefined,
    );
    await expect(rereading).rejects.toThrow(`its SHA-256 is ${sha256}`);
    const other = await signetctl(['backup', 'verify', backup, '--identity', operator.identity, '--sha256', '0'.repeat(64)]);
    expect([other.status, other.stderr]).toEqual([1, expect.stringContaining(`its SHA-256 is ${sha256}`)]);
    rmSync(damaged);
  });
});

const restore = async (...more: string[]): Promise<CommandRun> =>
  ctl('backup', 'restore', backup, '--identity', operator.identity, '--sha256', sha256, ...more);

describe('the restore of a backup', () => {
  it('needs its SHA-256, since everybody can encrypt to a public key', async () => {
    const refused = await ctl('backup', 'restore', backup, '--identity', operator.identity);
    expect([refused.status, refused.stderr]).toEqual([2, expect.stringContaining('--sha256 is missing')]);
  });

  it('is refused while the service runs, and over existing files', async () => {
    expect(await restore()).toMatchObject({ status: 5, stderr: 'signetctl: signetd is running: stop it and its token host first\n' });
    const beside = join(operator.directory, 'beside');
    expect((await restore('--to', beside)).stdout).toContain('restored.');
    const again = await restore('--to', beside);
    expect([again.status, again.stderr]).toEqual([5, expect.stringContaining('nothing was restored, since these exist already')]);
    await service.daemon.stop();
    const refused = await restore();
    expect([refused.status, refused.stderr]).toEqual([5, expect.stringContaining('nothing was restored, since these exist already')]);
    expect(refused.stderr).toContain(join(service.environment.directory, 'state.sqlite'));
    expect(refused.stderr).toContain('If the log is intact, keep it (--only configuration,state)');
    const withLog = await restore('--only', 'configuration,state');
    expect([withLog.status, withLog.stderr]).toEqual([5, expect.stringContaining('It is kept: signetd then finds')]);
    expect(withLog.stderr).not.toContain('--only');
    expect((await restore('--only', 'configuration')).stderr).not.toContain('the audit log here');
  });

  it('of the state alone is older than the audit log that is there, and the service waits for a decision', async () => {
    const restored = await restore('--only', 'state', '--replace');
    expect(restored.stdout).toContain('restored.');
    expect(restored.stderr).toContain('It is kept: signetd then finds what came after the backup');
    expect(restored.stderr).not.toContain('--only');
    const { status, text } = await service.daemon.startAndAsk();
    expect([status, text]).toEqual([503, expect.stringContaining('the state store is older than the audit log')]);
    const compared = await ctl('state', 'compare');
    expect([compared.status, compared.stdout]).toEqual([1, expect.stringContaining('missing:')]);
    await service.daemon.stop();
  });

  it('on a machine that has nothing but the token goes on with the same keys and passwords, and names the keys that differ', async () => {
    const { directory } = service.environment;
    // Back to the state before the restore, to make keys differ: one is created after the backup, one is lost.
    const state = readdirSync(directory).find((name) => /^state\.sqlite\.before-restore-\w+$/.test(name));
    if (state === undefined) throw new Error('the state was not kept');
    for (const end of ['', '-wal', '-shm']) {
      rmSync(join(directory, `state.sqlite${end}`), { force: true });
      if (existsSync(join(directory, `${state}${end}`)))
        renameSync(join(directory, `${state}${end}`), join(directory, `state.sqlite${end}`));
    }
    await service.daemon.start();
    // A key that was made ahead can be in the backup.
    const known = operator.unpacked(backup, 'cat token-keys.jsonl');
    let orphan = await keyId(await newKey());
    while (known.includes(orphan)) orphan = await keyId(await newKey());
    const gap = await keyId(lost);
    await service.daemon.stop();

    const before = `${directory}.before`;
    renameSync(directory, before);
    mkdirSync(directory, { mode: 0o700 });
    try {
      cpSync(join(before, 'token'), join(directory, 'token'), { recursive: true });
      deletePrivateKey(directory, gap);
      rmSync(join(directory, 'token', 'softhsm2.conf'));
      for (const name of secrets) {
        mkdirSync(dirname(join(directory, name)), { recursive: true, mode: 0o700 });
        cpSync(join(before, name), join(directory, name));
        chmodSync(join(directory, name), 0o600);
      }
      const restored = await ctl('--json', 'backup', 'restore', backup, '--identity', operator.identity, '--sha256', sha256);
      expect(restored.stderr).toContain('keys that signetd needs are not on the token');
      const { token } = z
        .object({ token: z.object({ gaps: z.array(z.object({ id: z.string() })), orphans: z.array(z.object({ id: z.string() })) }) })
        .parse(jsonOf(restored));
      expect(token.gaps.map(({ id }) => id)).toContain(gap);
      expect(token.orphans.map(({ id }) => id)).toContain(orphan);

      for (const name of ['write', 'read', 'files']) mkdirSync(join(directory, name), { recursive: true, mode: 0o700 });
      await service.daemon.start();
      expect(await sign(kept)).toBe('0/0');
      expect(await sign({ ...kept, password: 'wrong' })).toBe('2/202');
      expect(await sign(lost)).not.toBe('0/0');
      const compared = await ctl('backup', 'compare');
      expect([compared.status, compared.stdout]).toEqual([
        1,
        expect.stringMatching(new RegExp(`^gap +${gap} +key ${lost.reference} of tenant other `, 'm')),
      ]);
      await service.daemon.stop();
      const audit = await ctl('audit', 'verify', '--recent-seconds', '0');
      expect([audit.status, audit.stderr]).toEqual([0, '']);
    } finally {
      await service.daemon.stop();
      rmSync(directory, { recursive: true });
      renameSync(before, directory);
    }
  });
});

it('the commands of docs/backup.md do what it says', async () => {
  await service.daemon.start();
  const workplace = operator.file('page');
  mkdirSync(workplace);
  const blocks = shellBlocks(readFileSync('docs/backup.md', 'utf8'));
  expect(blocks.length).toBeGreaterThan(7);
  const signetctlHere = `signetctl() { "${process.execPath}" --disable-sigusr1 "${resolve('dist/cli.js')}" --config "${service.description.configFile}" "$@"; }`;
  const script = ['set -euo pipefail', signetctlHere, ...blocks.flatMap(({ commands }) => [commands, `echo '${separator}'`])].join('\n');
  const { stdout } = await promisify(execFile)('bash', ['-c', script], { cwd: workplace });
  const printed = stdout.split(`${separator}\n`);
  for (const [index, { output }] of blocks.entries()) if (output !== undefined) expect(printed[index]).toBe(output);
  expect(readdirSync(join(workplace, 'new-machine', service.environment.directory))).toEqual(
    expect.arrayContaining(['state.sqlite', 'signetd.yaml', 'audit', 'token-account']),
  );
  expect(readdirSync(join(workplace, 'only-the-state', service.environment.directory))).not.toContain('audit');
});
