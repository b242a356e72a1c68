import { randomInt, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ScratchPostgresql } from '../support/postgresql.ts';
import { quickstartEnvironment } from '../support/quickstart-environment.ts';
import { newCertificate } from '../support/own-service.ts';
import { TwoDaemons, type Instance } from '../support/two-daemons.ts';
import { callersKeysOnToken, Created, PersistentCaller, signing } from './callers.ts';

const duplicates = 50;
/** Of two rounds, each instance is killed in one. */
const rounds = 4;
const environment = quickstartEnvironment();
let postgresql: ScratchPostgresql;
let database: string;
let daemons: TwoDaemons;
let instances: readonly Instance[];
let caller: PersistentCaller;
let keysBefore: Set<string>;

beforeAll(async () => {
  daemons = await TwoDaemons.start(environment);
  ({ postgresql, database, instances } = daemons);
  keysBefore = new Set(callersKeysOnToken(environment));
  caller = new PersistentCaller(environment);
});

afterAll(async () => {
  await daemons.stop();
  environment.remove();
});

/** Answers of both instances, one of which is killed in the middle; who was not answered asks either of them. */
async function answersOverKill(operation: string, body: object, victim: number): Promise<Set<string>> {
  const idempotencyKey = randomUUID();
  const answers = Promise.all(
    Array.from({ length: duplicates }, async (_, index) => {
      let tries = index;
      const baseUrl = (): string => instances[tries++ % 2]?.baseUrl ?? '';
      return caller.ask(baseUrl, operation, body, idempotencyKey);
    }),
  );
  await delay(randomInt(1, 120));
  await instances[victim]?.daemon.kill();
  await instances[victim]?.daemon.start();
  return new Set(await answers);
}

it(`${duplicates} duplicates at two instances, one killed in the middle: one key and one failed attempt, ${rounds} times`, async () => {
  const references = new Set<string>();
  for (let round = 0; round < rounds; round += 1) {
    const answers = await answersOverKill('pki/createCertificate', newCertificate(), round % 2);
    expect(answers.size).toBe(1);
    const { keyReference } = Created.parse(JSON.parse([...answers].join('')));
    references.add(keyReference.reference);
    const failed = await answersOverKill('signature/sign', signing({ ...keyReference, password: 'a wrong one' }), round % 2);
    expect([...failed]).toEqual([expect.stringContaining('"resultMinor":202')]);
    const where = `where reference = '${keyReference.reference}'`;
    expect(await postgresql.query(database, `select failures_since_success as failures from keys ${where}`)).toEqual([{ failures: 1 }]);
  }
  expect(caller.retries).toBeGreaterThan(0);
  const recorded = await postgresql.query(database, 'select reference from keys');
  expect(new Set(recorded.map(({ reference }) => reference))).toEqual(references);
  expect(recorded).toHaveLength(rounds);
  // What a killed instance had begun to make is undone by the others after a time: it is on no record, and nobody has its secret.
  const journal = await postgresql.query(database, 'select key_id from key_journal');
  const abandoned = new Set(journal.map(({ key_id: id }) => String(id)));
  expect(callersKeysOnToken(environment).filter((id) => !keysBefore.has(id) && !abandoned.has(id))).toHaveLength(rounds);
}, 240_000);
