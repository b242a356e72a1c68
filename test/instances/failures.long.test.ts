import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newCertificate } from '../support/own-service.ts';
import { noSeveralInstances, SeveralInstances } from '../support/several-instances.ts';
import { skipNote } from '../support/skip-note.ts';
import { BalancedCaller } from './balanced-caller.ts';
import { holdsOver } from './holds-over.ts';

describe.skipIf(noSeveralInstances !== undefined)(`two instances under load${skipNote(noSeveralInstances)}`, () => {
  let several: SeveralInstances;
  beforeAll(async () => {
    several = await SeveralInstances.start();
  });
  afterAll(async () => several.stop());

  it('one is killed: what was acknowledged holds, and the other goes on', async () => {
    await holdsOver(several, 'kill -9 of one', async () => {
      await several.instances[0].daemon.kill();
      await delay(2000);
      await several.instances[0].daemon.start();
    });
  }, 400_000);

  it('both are replaced by a newer version with a new schema, one after the other', async () => {
    const newer = newerBuild();
    try {
      await holdsOver(several, 'rolling upgrade', async () => {
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
    await holdsOver(several, 'crash of PostgreSQL', async () => {
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
