import { randomUUID, X509Certificate } from 'node:crypto';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { signing } from '../idempotency/callers.ts';
import { openssl } from '../support/openssl.ts';
import { newCertificate } from '../support/own-service.ts';
import { noSeveralInstances, SeveralInstances } from '../support/several-instances.ts';
import { skipNote } from '../support/skip-note.ts';
import { BalancedCaller, codeOf } from './balanced-caller.ts';

const workers = 4;
/** Certificates that are issued on either side of a disturbance. */
const settled = 8;

describe.skipIf(noSeveralInstances !== undefined)(`two instances under load${skipNote(noSeveralInstances)}`, () => {
  let several: SeveralInstances;
  beforeAll(async () => {
    several = await SeveralInstances.start();
  });
  afterAll(async () => several.stop());

  /**
   * Applies for certificates, signs with the keys and revokes every third certificate, while something happens. Every request is repeated
   * with its Idempotency-Key until it is answered. What was acknowledged must hold at both instances afterwards.
   */
  async function holdsOver(what: string, happens: () => Promise<void>): Promise<void> {
    const keys: object[] = [];
    const revoked: string[] = [];
    const wrong: string[] = [];
    const progress = { answered: 0, longestGapMs: 0, lastMs: performance.now(), isOver: false };
    const callers = Array.from({ length: workers }, () => new BalancedCaller(several.environment, { keepAlive: true }));
    const work = async (caller: BalancedCaller): Promise<void> => {
      const done = async (
        operation: string,
        body: object,
      ): Promise<{ keyReference?: object | undefined; certificate?: string | undefined }> => {
        const answer = await caller.askUntilAnswered(several.baseUrl, operation, body, randomUUID());
        const nowMs = performance.now();
        progress.longestGapMs = Math.max(progress.longestGapMs, nowMs - progress.lastMs);
        progress.lastMs = nowMs;
        progress.answered += 1;
        if (codeOf(answer) !== '0/0') wrong.push(`${operation}: ${answer.text}`);
        return answer.body;
      };
      for (let count = 0; !progress.isOver; count += 1) {
        const { keyReference = {}, certificate = '' } = await done('pki/createCertificate', newCertificate());
        await done('signature/sign', signing(keyReference));
        if (count % 3 === 2) {
          await done('pki/revokeCertificate', { certificate, reason: 'KEY_COMPROMISE' });
          revoked.push(new X509Certificate(Buffer.from(certificate, 'base64')).serialNumber);
        } else keys.push(keyReference);
      }
    };
    const working = Promise.all(callers.map(work));
    await expect.poll(() => keys.length, { timeout: 100_000 }).toBeGreaterThan(settled);
    await happens();
    const before = keys.length;
    await expect.poll(() => keys.length, { timeout: 100_000 }).toBeGreaterThan(before + settled);
    progress.isOver = true;
    await working;
    const retries = callers.reduce((sum, { retries: count }) => sum + count, 0);
    for (const caller of callers) caller.close();
    process.stdout.write(
      `${what}: ${progress.answered} requests answered, ${wrong.length} wrong, ${retries} repeated; longest time without an answer ${Math.round(progress.longestGapMs)} ms\n`,
    );
    expect(wrong).toEqual([]);

    const caller = new BalancedCaller(several.environment);
    for (const { baseUrl, publicUrl } of several.instances) {
      for (const key of keys) expect(codeOf(await caller.ask(baseUrl, 'signature/sign', signing(key)))).toBe('0/0');
      const crl = Buffer.from(await (await fetch(`${publicUrl}/pki/issuing.crl`)).arrayBuffer());
      const listed = openssl(['crl', '-inform', 'DER', '-in', '{crl}', '-noout', '-text'], { crl });
      for (const serial of revoked) expect(listed).toContain(serial);
    }
    const columns = 'select count(*)::int as count from keys group by reference having count(*) > 1';
    expect(await several.postgresql.query(several.database, columns)).toEqual([]);
  }

  it('one is killed: what was acknowledged holds, and the other goes on', async () => {
    await holdsOver('kill -9 of one', async () => {
      await several.instances[0].daemon.kill();
      await delay(2000);
      await several.instances[0].daemon.start();
    });
  }, 400_000);

  it('both are replaced by a newer version with a new schema, one after the other', async () => {
    const newer = newerBuild();
    try {
      await holdsOver('rolling upgrade', async () => {
        for (const { daemon } of several.instances) {
          await daemon.stop();
          daemon.upgradeTo(join(newer, 'dist', 'main.js'));
          await daemon.start();
        }
      });
      for (const { opsUrl } of several.instances) expect(await (await fetch(`${opsUrl}/metrics`)).text()).toContain('version="9.9.9"');
      expect(await several.postgresql.query(several.database, 'select count(trial)::int as count from keys')).toEqual([{ count: 0 }]);
    } finally {
      rmSync(newer, { recursive: true, force: true });
    }
  }, 400_000);

  it('the database crashes, and its connections are killed: requests get 503 with Retry-After, and go on by themselves', async () => {
    await holdsOver('crash of PostgreSQL', async () => {
      await several.postgresql.query(
        'postgres',
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'signetd'",
      );
      await several.postgresql.stop('immediate');
      const caller = new BalancedCaller(several.environment);
      for (const { baseUrl, opsUrl } of several.instances) {
        const answer = await caller.ask(baseUrl, 'pki/createCertificate', newCertificate());
        expect([answer.status, answer.retryAfter]).toEqual([503, '1']);
        const ready = await fetch(`${opsUrl}/health/ready`);
        expect([ready.status, await ready.text()]).toEqual([503, expect.stringContaining('"state":"it takes no writes"')]);
      }
      await several.postgresql.restart();
    });
  }, 400_000);
});

/** A copy of the build whose version is newer, with one more migration. */
function newerBuild(): string {
  const directory = mkdtempSync(join(tmpdir(), 'signetd-newer-'));
  for (const name of ['dist', 'native-config']) cpSync(name, join(directory, name), { recursive: true });
  symlinkSync(resolve('node_modules'), join(directory, 'node_modules'));
  writeFileSync(join(directory, 'package.json'), readFileSync('package.json', 'utf8').replace(/"version": "[^"]+"/, '"version": "9.9.9"'));
  const migrations = join(directory, 'dist', 'state', 'migrations');
  writeFileSync(
    join(migrations, '9999-trial.js'),
    "export async function up(db) {\n  await db.schema.alterTable('keys').addColumn('trial', 'text').execute();\n}\n",
  );
  const all = readFileSync(join(migrations, 'all.js'), 'utf8');
  const added = all.replace(
    'const migrations = {',
    "import * as trial from './9999-trial.js';\nconst migrations = {\n    '9999-trial': trial,",
  );
  writeFileSync(join(migrations, 'all.js'), added);
  return directory;
}
