import { spawn, type ChildProcess } from 'node:child_process';
import { randomInt, randomUUID, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { parse, stringify } from 'yaml';
import { registerClient } from '../../src/clients/registry.ts';
import { loadTokenConfig } from '../../src/config/config.ts';
import { openStateStore } from '../../src/state/state-store.ts';
import { DaemonProcess } from '../support/daemon-process.ts';
import { ScratchPostgresql } from '../support/postgresql.ts';
import { quickstartEnvironment } from '../support/quickstart-environment.ts';
import { recordingLog } from '../support/silent-log.ts';
import { newCertificate } from '../support/own-service.ts';
import { callersKeysOnToken, Created, PersistentCaller, signing } from './callers.ts';

const duplicates = 50;
const rounds = 4;
const environment = quickstartEnvironment();
let postgresql: ScratchPostgresql;
let database: string;
let host: ChildProcess;
let caller: PersistentCaller;
let keysBefore: Set<string>;

interface Instance {
  readonly daemon: DaemonProcess;
  readonly baseUrl: string;
}

let instances: readonly Instance[] = [];

/** Two daemons, one PostgreSQL, one token host, which neither of them started: it lives when they are killed. */
beforeAll(async () => {
  environment.start();
  environment.stop();
  postgresql = await ScratchPostgresql.start();
  const state = await postgresql.newDatabase();
  if (state.kind !== 'postgresql') throw new Error('a database of PostgreSQL');
  ({ database } = state);
  const { configFile, clients } = environment.description();
  const store = await openStateStore(state, recordingLog());
  const certificate = new X509Certificate(readFileSync(clients['other']?.certificate ?? ''));
  await registerClient(store, { certificate, name: 'other', tenant: 'other', roles: ['keys', 'signature'] });
  await store.close();
  keysBefore = new Set(callersKeysOnToken(environment));

  const token = loadTokenConfig(configFile);
  host = spawn(process.execPath, ['--jitless', 'dist/token-host.js', '--config', configFile], {
    env: { PATH: process.env['PATH'], ...token.environment },
    stdio: 'ignore',
  });
  await vi.waitFor(
    () => {
      if (!existsSync(token.socketPath)) throw new Error('the token host does not listen');
    },
    { timeout: 20_000 },
  );

  const port = randomInt(20_000, 29_990);
  const config = parse(readFileSync(configFile, 'utf8')) as Record<string, Record<string, Record<string, unknown>>>;
  instances = ['a', 'b'].map((name, index) => {
    const [api, operations] = [port + 2 * index, port + 2 * index + 1];
    const own = {
      ...config,
      listeners: {
        api: { ...config['listeners']?.['api'], port: api },
        operations: { ...config['listeners']?.['operations'], port: operations },
      },
      token: { ...config['token'], host: 'external' },
      state,
      // The keys on the token are counted.
      keyPool: { keys: 0 },
      admin: { socketPath: join(environment.directory, `${name}.sock`) },
      audit: { directory: join(environment.directory, `audit-${name}`), name },
    };
    const path = join(environment.directory, `${name}.yaml`);
    writeFileSync(path, stringify(own), { mode: 0o600 });
    return { daemon: new DaemonProcess(path, `http://127.0.0.1:${operations}`), baseUrl: `https://127.0.0.1:${api}` };
  });
  for (const { daemon } of instances) await daemon.start();
  caller = new PersistentCaller(environment);
});

afterAll(async () => {
  for (const { daemon } of instances) await daemon.stop();
  host.kill();
  await once(host, 'exit');
  await postgresql.remove();
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
