import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openSqliteStore } from '../../src/state/threaded-store.ts';

let directory: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'signetd-migrations-'));
});

afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});

it('keys that were made before rows had seals get none: they are counted, and the pool and open one-time passwords end', async () => {
  const path = join(directory, 'before-seals.sqlite');
  await (await openSqliteStore(path)).close();
  const database = new DatabaseSync(path);
  database.exec(`
    drop index keys_unsealed;
    ${['keys', 'otps', 'key_pool'].map((table) => `alter table ${table} drop column seal_salt; alter table ${table} drop column seal_mac;`).join('')}
    delete from kysely_migration where name like '0021-%';
    insert into certificates (sha1, tenant, authority, serial_number, der, not_before, not_after) values ('a', 'demo', 'issuing', '1', x'00', 0, 0);
    insert into keys (reference, tenant, key_id, key_type, protocol, state, secret_salt, secret_mac, created_at)
      values ('a', 'demo', '43aa', 'P-256', 'OTP', 'ACTIVE', x'', x'', 0);
    insert into otps (reference, action, otp_id, salt, mac, attempts_left, expires_at) values ('a', 'SIGN', '1', x'00', x'00', 3, 9e15);
    insert into key_pool (key_id, key_type, public_key, created_at) values ('43bb', 'P-256', x'00', 0);`);
  database.close();
  const store = await openSqliteStore(path);
  expect(await store.run('countUnsealedKeys')).toBe(1);
  expect(await store.run('findKey', 'a')).toMatchObject({ seal_salt: null, seal_mac: null });
  expect(await store.run('poolLevels')).toEqual([]);
  expect((await store.run('journal')).map(({ key_id: id, intent }) => [id, intent])).toEqual([['43bb', 'CREATE']]);
  await store.close();
  const after = new DatabaseSync(path);
  expect(after.prepare('select * from otps').all()).toEqual([]);
  after.close();
});

it('a migration is carried out although one with a higher number has been before', async () => {
  const path = join(directory, 'state.sqlite');
  await (await openSqliteStore(path)).close();
  const database = new DatabaseSync(path);
  database.exec(
    "drop table kept_answers; drop table kept_answer_parts; drop table service_keys; delete from kysely_migration where name like '0004-%'",
  );
  database.close();
  const store = await openSqliteStore(path);
  expect(await store.run('findServiceKey', 'nothing')).toBeUndefined();
  await store.close();
});
