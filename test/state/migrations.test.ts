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

it('one-time passwords that were open before there was activation data stay open, one for each key and action', async () => {
  const path = join(directory, 'before-data.sqlite');
  await (await openSqliteStore(path)).close();
  const database = new DatabaseSync(path);
  const values = "x'01', x'02', '[]', 2, null, 9e15, x'03', x'04'";
  database.exec(`
    drop table otps;
    create table otps (reference text not null references keys (reference), action text not null, otp_id text not null, salt blob not null,
      mac blob not null, bound_digests text, attempts_left integer not null, reserved_until bigint, expires_at bigint not null,
      seal_salt blob, seal_mac blob, primary key (reference, action));
    delete from kysely_migration where name like '0025-%';
    insert into certificates (sha1, tenant, authority, serial_number, der, not_before, not_after) values ('a', 'demo', 'issuing', '1', x'00', 0, 0);
    insert into keys (reference, tenant, key_id, key_type, protocol, state, secret_salt, secret_mac, created_at)
      values ('a', 'demo', '43aa', 'P-256', 'OTP', 'ACTIVE', x'', x'', 0);
    insert into otps values ('a', 'SIGN', '1', ${values}), ('a', 'REVOKE', '2', ${values});`);
  const before = database.prepare('select * from otps order by otp_id').all();
  expect(before).toHaveLength(2);
  database.close();
  await (await openSqliteStore(path)).close();
  const after = new DatabaseSync(path);
  const data = { signatures: null, client: null, ends_at: null };
  expect(after.prepare('select * from otps order by otp_id').all()).toEqual(before.map((row) => ({ ...row, ...data })));
  const again = after.prepare(
    "insert into otps (reference, action, otp_id, salt, mac, attempts_left, expires_at) values ('a', ?, '3', x'', x'', 3, 1)",
  );
  expect(() => again.run('SIGN')).toThrow('UNIQUE');
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

it('the sums of kept answers have one row for each client and counter', async () => {
  const path = join(directory, 'sums.sqlite');
  await (await openSqliteStore(path)).close();
  const database = new DatabaseSync(path);
  const columns = database.prepare('select name, type, "notnull" as isRequired, pk from pragma_table_info(?)').all('kept_bytes');
  expect(columns.map((column) => Object.values(column))).toEqual([
    ['client', 'TEXT', 1, 1],
    ['counter', 'TEXT', 1, 2],
    ['bytes', 'bigint', 1, 0],
  ]);
  const indexed = database.prepare('select name from pragma_index_info(?)').all('kept_answers_client');
  expect(indexed.map(({ name }) => name)).toEqual(['client', 'ends_at']);
  database.close();
});
