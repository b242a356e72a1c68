import { randomBytes } from 'node:crypto';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

const tenant = 'bench-filling';

/**
 * Runs work while the running service's store has additional keys: only records, without keys on
 * the token. They are removed afterwards.
 */
export async function withFilledStore<T>(configFile: string, keys: number, work: () => Promise<T>): Promise<T> {
  const path = join(dirname(configFile), 'state.sqlite');
  fill(path, keys);
  try {
    return await work();
  } finally {
    inStore(path, (database) => {
      database.exec(`delete from keys where tenant = '${tenant}'; delete from certificates where tenant = '${tenant}';`);
    });
  }
}

function fill(path: string, keys: number): void {
  inStore(path, (database) => {
    const certificate = database.prepare(
      `insert into certificates (sha1, tenant, authority, serial_number, der, not_before, not_after)
       select ?, '${tenant}', authority, ?, der, not_before, not_after from certificates limit 1`,
    );
    const key = database.prepare(
      `insert into keys (reference, tenant, key_id, key_type, protocol, state, secret_salt, secret_mac, created_at)
       values (?, '${tenant}', ?, 'P-256', 'PASSWORD', 'ACTIVE', zeroblob(16), zeroblob(32), 0)`,
    );
    database.exec('begin immediate');
    for (let count = 0; count < keys; count += 1) {
      const reference = randomBytes(20).toString('hex');
      certificate.run(reference, reference);
      key.run(reference, `43${randomBytes(16).toString('hex')}`);
    }
    database.exec('commit');
  });
}

function inStore(path: string, work: (database: DatabaseSync) => void): void {
  const database = new DatabaseSync(path, { timeout: 10_000, enableForeignKeyConstraints: true });
  try {
    work(database);
  } finally {
    database.close();
  }
}
