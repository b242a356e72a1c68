import { execFileSync } from 'node:child_process';
import { randomInt, X509Certificate } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { parse, stringify } from 'yaml';
import { registerClient } from '../../src/clients/registry.ts';
import { StateConfig } from '../../src/config/state-config.ts';
import { openStateStore } from '../../src/state/threaded-store.ts';
import { agentOf, OwnService } from '../support/own-service.ts';
import { ScratchPostgresql } from '../support/postgresql.ts';
import type { QuickstartEnvironment } from '../support/quickstart-environment.ts';
import { recordingLog } from '../support/silent-log.ts';
import { KeyOwner, type OwnedKey } from './key-owner.ts';

const owners = 6;

interface KeyState {
  readonly state: string;
  readonly failures: number;
}

/** The database as its own tools read it. */
interface Database {
  /** The member `state` of the configuration. */
  readonly config: StateConfig;
  keys(): Promise<Map<string, KeyState>>;
  journal(): Promise<number>;
  remove(): Promise<void>;
}

const query = 'select reference, state, failures_since_success as failures from keys';

/** The databases that a service under kills can have. */
export const databases = { SQLite: sqlite, PostgreSQL: postgresql };

/** Kills a service under writing load, and compares what is left with what it acknowledged. */
export async function killUnderLoad(name: keyof typeof databases, kills: number): Promise<void> {
  let database: Database | undefined;
  let service: OwnService | undefined;
  try {
    service = await OwnService.start(async (environment) => {
      const { configFile, clients } = environment.description();
      database = await databases[name](environment);
      await useDatabase(configFile, database.config, readFileSync(clients['other']?.certificate ?? ''));
    });
    if (database === undefined) throw new Error('a database was opened');
    await compareAfterKills(service, database, { name, kills });
  } finally {
    await service?.remove();
    await database?.remove();
  }
}

async function compareAfterKills(service: OwnService, db: Database, { name, kills }: { name: string; kills: number }): Promise<void> {
  const { daemon, description, environment, baseUrl } = service;
  const agent = agentOf(description, 'other');

  let over = false;
  const isOver = (): boolean => over;
  const all = Array.from({ length: owners }, () => new KeyOwner(baseUrl, agent));
  const work = async (owner: KeyOwner): Promise<void> => {
    while (!isOver()) if (!(await owner.act())) await delay(50);
  };
  const killer = async (): Promise<void> => {
    for (let killed = 0; killed < kills; killed += 1) {
      // On a busy machine nothing may have been acknowledged yet, and nothing could be lost.
      while (all.reduce((sum, owner) => sum + owner.acknowledged.length, 0) <= killed + 1) await delay(10);
      await delay(randomInt(30, 700));
      await daemon.kill();
      await daemon.start();
    }
    over = true;
  };
  await Promise.all([killer(), ...all.map(work)]);
  // Steps of a shared store count as cut short only after a time. Keys are made ahead until there are enough: a stop may cut one short again.
  await expect.poll(async () => db.journal(), { timeout: 100_000, interval: 500 }).toBe(0);
  await daemon.stop();
  agent.destroy();

  const keys = all.flatMap((owner) => owner.keys);
  const acknowledged = all.flatMap((owner) => owner.acknowledged);
  process.stdout.write(`${name}: ${kills} kills, ${acknowledged.length} acknowledged requests on ${keys.length} keys\n`);
  expect(acknowledged.length).toBeGreaterThan(kills);
  const stored = await db.keys();
  expect(keys.flatMap((key) => whatIsWrong(key, stored.get(key.reference)))).toEqual([]);

  // What the token did for a request that a kill cut off has no record: the account of its host names that, rightly.
  const verifying = ['audit', 'verify', '--no-account', '--json', '--config', description.configFile];
  const verdict = execFileSync(process.execPath, ['--disable-sigusr1', 'dist/cli.js', ...verifying], { encoding: 'utf8' });
  expect(JSON.parse(verdict)).not.toHaveProperty('bad');
  const records = requestRecords(join(environment.directory, 'audit-under-kills'));
  const byRequestId = Map.groupBy(records, ({ requestID }) => requestID);
  expect(acknowledged.filter((requestID) => byRequestId.get(requestID)?.length !== 1)).toEqual([]);
  // What the state says that was done, some record tells; and no record tells of what the state does not have.
  expect(new Set(tellingOf(records, 'createCertificate', 'the key and its certificate exist'))).toEqual(new Set(stored.keys()));
  const removed = [...stored].filter(([, { state }]) => state === 'REMOVED').map(([reference]) => reference);
  expect(new Set(tellingOf(records, 'removeKey', 'the key is out of use'))).toEqual(new Set(removed));
}

/** The faults of a stored key, in words. */
function whatIsWrong(key: OwnedKey, stored: KeyState | undefined): string[] {
  const faults: string[] = [];
  if (stored === undefined) return [`${key.reference} is lost`];
  if (key.removal === 'acknowledged' && stored.state !== 'REMOVED') faults.push(`${key.reference} is back`);
  if (key.removal === 'none' && stored.state !== 'ACTIVE') faults.push(`${key.reference} is ${stored.state}`);
  if (stored.failures < key.failures.least || stored.failures > key.failures.most) {
    faults.push(`${key.reference} has ${stored.failures} failures, not ${key.failures.least} to ${key.failures.most}`);
  }
  return faults;
}

interface RequestRecord {
  readonly operation: string;
  readonly requestID?: string;
  readonly key?: string;
  readonly major?: number;
  readonly replayed?: string;
}

function requestRecords(directory: string): RequestRecord[] {
  return readdirSync(directory)
    .filter((name) => name.endsWith('.jsonl'))
    .flatMap((name) => readFileSync(join(directory, name), 'utf8').split('\n').slice(0, -1))
    .map((line) => JSON.parse(line) as RequestRecord & { readonly kind: string })
    .filter(({ kind }) => kind === 'request');
}

/** The keys for which a record tells an effect: as a success, or replayed. */
function tellingOf(records: readonly RequestRecord[], operation: string, effect: string): string[] {
  return records
    .filter((record) => record.operation === `pki/${operation}` && (record.major === 0 || record.replayed?.includes(effect) === true))
    .map(({ key }) => key ?? '');
}

async function useDatabase(configFile: string, state: StateConfig, certificate: Buffer): Promise<void> {
  const config = parse(readFileSync(configFile, 'utf8')) as { readonly audit?: object };
  // What the quickstart did is in neither.
  writeFileSync(configFile, stringify({ ...config, state, audit: { ...config.audit, directory: 'audit-under-kills' } }));
  const store = await openStateStore(state, recordingLog());
  await registerClient(store, {
    certificate: new X509Certificate(certificate),
    name: 'other',
    tenant: 'other',
    roles: ['keys', 'signature'],
  });
  await store.close();
}

function stateOf(rows: readonly Record<string, unknown>[]): Map<string, KeyState> {
  return new Map(rows.map((row) => [String(row['reference']), { state: String(row['state']), failures: Number(row['failures']) }]));
}

async function sqlite({ directory }: QuickstartEnvironment): Promise<Database> {
  const path = join(directory, 'state-under-kills.sqlite');
  const all = async (text: string): Promise<Record<string, unknown>[]> => {
    const db = new DatabaseSync(path, { readOnly: true });
    const rows = db.prepare(text).all();
    db.close();
    return Promise.resolve(rows);
  };
  return Promise.resolve({
    config: StateConfig.parse({ path }),
    keys: async () => stateOf(await all(query)),
    journal: async () => (await all('select 1 from key_journal')).length,
    remove: async () => Promise.resolve(),
  });
}

async function postgresql(): Promise<Database> {
  const server = await ScratchPostgresql.start();
  const config = await server.newDatabase({ abandonedStepSeconds: 5 });
  if (config.kind !== 'postgresql') throw new Error('another kind of database');
  const all = async (text: string): Promise<Record<string, unknown>[]> => server.query(config.database, text);
  return {
    config,
    keys: async () => stateOf(await all(query)),
    journal: async () => (await all('select 1 from key_journal')).length,
    remove: async () => server.remove(),
  };
}
