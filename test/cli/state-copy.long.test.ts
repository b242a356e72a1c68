import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import type { StateConfig } from '../../src/config/state-config.ts';
import { copiedTables } from '../../src/state/copy/tables.ts';
import { newCertificate, OwnService } from '../support/own-service.ts';
import { ScratchPostgresql } from '../support/postgresql.ts';
import { jsonOf, signetctl, type CommandRun } from '../support/signetctl.ts';

let postgresql: ScratchPostgresql;
let service: OwnService;
const inService = (name: string): string => join(service.environment.directory, name);
const ctl = async (...command: string[]): Promise<CommandRun> => signetctl(['--config', service.description.configFile, ...command]);

beforeAll(async () => {
  postgresql = await ScratchPostgresql.start();
  service = await OwnService.start();
}, 300_000);

afterAll(async () => {
  await service.remove();
  await postgresql.remove();
});

const Created = z.looseObject({ keyReference: z.looseObject({ reference: z.string(), password: z.string() }), certificate: z.string() });
const newKey = async () =>
  Created.parse(
    JSON.parse(
      await service.post('pki/createCertificate', newCertificate(), 'other', { headers: { 'Idempotency-Key': `k${Math.random()}` } }),
    ),
  );
type Key = Awaited<ReturnType<typeof newKey>>;
const digest = { digestAlgOID: '2.16.840.1.101.3.4.2.1', digestValue: Buffer.alloc(32, 7).toString('base64') };
const sign = async ({ keyReference }: Pick<Key, 'keyReference'>): Promise<string> =>
  service.post('signature/sign', { keyReference, parameters: { rawSignature: {} }, inputDocuments: [{ ID: 'd', digest }] });

type Rows = Record<string, unknown[]>;
const ordered = (rows: readonly object[]): string[] =>
  rows
    .map((row) =>
      JSON.stringify(
        Object.entries(row)
          .toSorted(([one], [other]) => (one < other ? -1 : 1))
          .map(([name, value]: [string, unknown]): [string, unknown] => [
            name,
            value instanceof Uint8Array ? `bytes ${Buffer.from(value).toString('hex')}` : value,
          ]),
      ),
    )
    .toSorted();

/** What a store has, asked without a line of the product. */
async function contentOf(state: StateConfig): Promise<Rows> {
  const content: Rows = {};
  if (state.kind === 'sqlite') {
    const database = new DatabaseSync(state.path, { readOnly: true });
    for (const table of copiedTables) content[table] = ordered(database.prepare(`select * from ${table}`).all());
    database.close();
    return content;
  }
  for (const table of copiedTables) {
    const rows = await postgresql.query(state.database, `select * from ${table}`);
    // The driver answers bigint as text.
    const types = await postgresql.query(
      state.database,
      `select column_name, udt_name from information_schema.columns where table_name = '${table}' and udt_name = 'int8'`,
    );
    const bigints = new Set(types.map(({ column_name: name }) => String(name)));
    content[table] = ordered(
      rows.map((row) =>
        Object.fromEntries(Object.entries(row).map(([name, value]) => [name, bigints.has(name) && value !== null ? Number(value) : value])),
      ),
    );
  }
  return content;
}

function withState(state: StateConfig, path = inService('moved.yaml')): string {
  const config = parse(readFileSync(service.description.configFile, 'utf8')) as object;
  writeFileSync(path, stringify({ ...config, state }), { mode: 0o600 });
  return path;
}

it('moves to PostgreSQL, back, and again, and leaves no row, no revocation and no key behind', async () => {
  const sqlite: StateConfig = { kind: 'sqlite', path: inService('state.sqlite') };
  const revoked = await newKey();
  const kept = await newKey();
  for (const actions of [['PASSWORD'], ['OTP']]) await service.post('pki/createCertificate', newCertificate(actions[0]));
  expect(await service.post('pki/revokeCertificate', { certificate: revoked.certificate, reason: 'KEY_COMPROMISE' })).toContain(
    '"majorCode":0',
  );
  await sign({ keyReference: { ...kept.keyReference, password: 'wrong' } });
  let from: StateConfig = sqlite;
  for (const round of [1, 2, 3]) {
    const to: StateConfig = round % 2 === 1 ? await postgresql.newDatabase() : { kind: 'sqlite', path: inService(`moved-${round}.sqlite`) };
    const moved = withState(to);
    const running = await ctl('state', 'copy', '--to', moved);
    expect([running.status, running.stderr]).toEqual([5, expect.stringContaining('stop it first')]);
    await service.daemon.stop();
    const before = await contentOf(from);
    const copied = await ctl('--json', 'state', 'copy', '--to', moved);
    expect([round, copied.status, copied.stderr]).toEqual([round, 0, expect.stringContaining('put the section state')]);
    const { rows } = z.looseObject({ rows: z.number() }).parse(jsonOf(copied));
    expect(rows).toBe(Object.values(before).flat().length);
    const after = await contentOf(to);
    expect(after['audit_outbox']?.length).toBe((before['audit_outbox']?.length ?? 0) + 1);
    expect({ ...after, audit_outbox: [] }).toEqual({ ...before, audit_outbox: [] });
    expect(before['keys']?.length).toBeGreaterThan(2);
    expect(before['revocations']?.length).toBeGreaterThan(0);
    // A second copy would mix two stores.
    const again = await ctl('state', 'copy', '--to', moved);
    expect([again.status, again.stderr]).toEqual([5, expect.stringContaining('the target is not empty')]);
    expect(await contentOf(to)).toEqual(after);

    // Ready at once.
    const old = withState(from, inService('old.yaml'));
    withState(to, service.description.configFile);
    const { status, text } = await service.daemon.startAndAsk();
    expect([round, status === 200 || !text.includes('stateAge')]).toEqual([round, true]);
    await service.daemon.ready();
    expect(await sign(kept)).toContain('"resultMajor":0');
    expect(await service.post('pki/checkKey', { keyReference: { reference: revoked.keyReference.reference } })).toContain('REVOKED');
    const compared = await ctl('state', 'compare');
    expect([round, compared.status]).toEqual([round, 0]);
    await service.daemon.kill();
    // The old store is older from the first record on, though nothing was changed since.
    const outdated = await signetctl(['--config', old, 'state', 'compare']);
    expect([round, outdated.status, outdated.stderr]).toEqual([round, 1, expect.stringContaining('older than the audit log')]);
    await service.daemon.start();
    from = to;
  }
  const log = readFileSync(join(inService('audit'), 'audit-00000001.jsonl'), 'utf8');
  expect(log.match(/"command":"state copy"/g)).toHaveLength(3);
  expect((await ctl('audit', 'verify', '--no-account')).status).toBe(0);
}, 600_000);

it('refuses what is no empty state store, with one sentence', async () => {
  await service.daemon.stop();
  const state = await postgresql.newDatabase();
  if (state.kind !== 'postgresql') throw new Error('PostgreSQL');
  await postgresql.query(state.database, 'create table accounts (id int)');
  const foreign = await ctl('state', 'copy', '--to', withState(state));
  expect([foreign.status, foreign.stderr]).toEqual([5, expect.stringContaining('tables that are not of signetd: accounts')]);
  const same = await ctl('state', 'copy', '--to', service.description.configFile);
  expect([same.status, same.stderr]).toEqual([2, expect.stringContaining('is in use')]);
  const missing = await ctl('state', 'copy', '--to', withState({ ...state, database: 'nowhere' }));
  expect([missing.status, missing.stderr]).toEqual([5, expect.stringContaining('does not exist')]);
  const nowhere = await ctl('state', 'copy', '--to', withState({ kind: 'sqlite', path: '/nowhere/state.sqlite' }));
  expect([nowhere.status, nowhere.stderr]).toEqual([5, expect.stringContaining('/nowhere/state.sqlite')]);
  for (const { stderr } of [foreign, same, missing, nowhere]) expect(stderr).not.toContain('internal error');
  writeFileSync(inService('none.yaml'), 'token: {}\n');
  expect((await ctl('state', 'copy', '--to', inService('none.yaml'))).status).toBe(78);
}, 300_000);

it('leaves an empty target, or the whole of it, whenever it is killed', async () => {
  for (const round of Array.from({ length: 20 }, (_, index) => index)) {
    const path = inService('killed.sqlite');
    for (const end of ['', '-wal', '-shm', '-lock']) rmSync(`${path}${end}`, { force: true });
    const to: StateConfig = round % 2 === 0 ? { kind: 'sqlite', path } : await postgresql.newDatabase();
    const moved = withState(to);
    const child = spawn(
      process.execPath,
      ['--disable-sigusr1', 'dist/cli.js', '--config', service.description.configFile, 'state', 'copy', '--to', moved],
      {
        stdio: 'ignore',
      },
    );
    const ended = once(child, 'exit');
    await delay(300 + round * 60);
    child.kill('SIGKILL');
    await ended;
    const again = await ctl('state', 'copy', '--to', moved);
    if (again.status !== 0)
      expect([round, again.status, again.stderr]).toEqual([round, 5, expect.stringMatching(/not empty|uses the database/)]);
    if (again.stderr.includes('uses the database')) continue;
    if (to.kind === 'sqlite') expect(existsSync(path)).toBe(true);
    const content = await contentOf(to);
    expect([round, (content['keys']?.length ?? 0) > 2, content['audit_outbox']?.length]).toEqual([round, true, 1]);
  }
}, 600_000);
