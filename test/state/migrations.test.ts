import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openSqliteStore } from '../../src/state/state-store.ts';

let directory: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'signetd-migrations-'));
});

afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
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
