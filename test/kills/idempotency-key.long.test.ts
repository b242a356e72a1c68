import { randomInt, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { callersKeysOnToken, Created, PersistentCaller, signing } from '../idempotency/callers.ts';
import { withoutKeyPool } from '../support/daemon-process.ts';
import { newCertificate, OwnService } from '../support/own-service.ts';
import { repetitions } from '../support/repetitions.ts';

const duplicates = 50;
const rounds = repetitions(8);
/** Each round starts the service anew. */
const timeoutMs = 40_000 * rounds;
let service: OwnService;
let caller: PersistentCaller;
let keysBefore: string[];

beforeAll(async () => {
  service = await OwnService.start((environment) => {
    withoutKeyPool(environment);
    keysBefore = callersKeysOnToken(environment);
  });
  caller = new PersistentCaller(service.environment);
});

afterAll(async () => {
  await service.remove();
});

const state = <T>(read: (database: DatabaseSync) => T): T => {
  const database = new DatabaseSync(join(service.environment.directory, 'state.sqlite'), { readOnly: true });
  try {
    return read(database);
  } finally {
    database.close();
  }
};

/** As many answers, with a kill -9 of the service at some moment in the middle. */
async function answersOverKill(operation: string, body: object, killWithinMs: number): Promise<Set<string>> {
  const idempotencyKey = randomUUID();
  const answers = Promise.all(
    Array.from({ length: duplicates }, async () => caller.ask(() => service.baseUrl, operation, body, idempotencyKey)),
  );
  await delay(randomInt(1, killWithinMs));
  await service.daemon.kill();
  await service.daemon.start();
  return new Set(await answers);
}

it(
  `${duplicates} duplicates of createCertificate at once and kill -9 in the middle: one key, one password, ${rounds} times`,
  async () => {
    const references = new Set<string>();
    for (let round = 0; round < rounds; round += 1) {
      const answers = await answersOverKill('pki/createCertificate', newCertificate(), 150);
      expect(answers.size).toBe(1);
      const { keyReference } = Created.parse(JSON.parse([...answers].join('')));
      references.add(keyReference.reference);
      expect(await caller.ask(() => service.baseUrl, 'signature/sign', signing(keyReference), randomUUID())).toContain('"resultMajor":0');
    }
    expect(caller.retries).toBeGreaterThan(0);
    const recorded = state((database) => database.prepare("select reference, key_id from keys where tenant = 'other'").all());
    expect(recorded.map(({ reference }) => String(reference)).toSorted()).toEqual([...references].toSorted());
    const before = new Set(keysBefore);
    const made = callersKeysOnToken(service.environment).filter((id) => !before.has(id));
    expect(made).toEqual(recorded.map(({ key_id: id }) => String(id)).toSorted());
    expect(state((database) => database.prepare('select * from key_journal').all())).toEqual([]);
  },
  timeoutMs,
);

it(
  `${duplicates} duplicates of a wrong password at once and kill -9 in the middle: one failed attempt, ${rounds} times`,
  async () => {
    for (let round = 0; round < rounds; round += 1) {
      const { keyReference } = Created.parse(
        JSON.parse(await caller.ask(() => service.baseUrl, 'pki/createCertificate', newCertificate(), randomUUID())),
      );
      const answers = await answersOverKill('signature/sign', signing({ ...keyReference, password: 'a wrong one' }), 60);
      expect([...answers]).toEqual([expect.stringContaining('"resultMinor":202')]);
      const failures = state((database) =>
        database.prepare('select failures_since_success as failures from keys where reference = ?').get(keyReference.reference),
      );
      expect({ ...failures }).toEqual({ failures: 1 });
    }
  },
  timeoutMs,
);

it('keeps nothing of a password, a request or an Idempotency-Key that can be read in the state store', async () => {
  const idempotencyKey = `order-${randomUUID()}`;
  const { keyReference } = Created.parse(
    JSON.parse(await caller.ask(() => service.baseUrl, 'pki/createCertificate', newCertificate(), idempotencyKey)),
  );
  const guess = `guess-${randomUUID()}`;
  await caller.ask(() => service.baseUrl, 'signature/sign', signing({ ...keyReference, password: guess }), idempotencyKey);
  const columns = (table: string): Buffer =>
    Buffer.concat(
      state((database) => database.prepare(`select * from ${table}`).all())
        .flatMap((row) => Object.values(row))
        .map((value) => (value instanceof Uint8Array ? Buffer.from(value) : Buffer.from(String(value)))),
    );
  const tables = state((database) => database.prepare("select name from sqlite_master where type = 'table'").all());
  const dump = Buffer.concat(tables.map(({ name }) => columns(String(name))));
  expect(dump.includes(keyReference.reference)).toBe(true);
  for (const secret of [keyReference.password, guess, idempotencyKey]) {
    for (const encoding of ['utf8', 'base64', 'hex'] as const) {
      const encoded = Buffer.from(secret).toString(encoding).replace(/=+$/, '');
      expect(dump.includes(encoded)).toBe(false);
    }
  }
});
