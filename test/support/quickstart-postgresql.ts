import { spawn } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { roles } from '../../src/clients/caller.ts';
import { registerClient } from '../../src/clients/registry.ts';
import type { StateStore } from '../../src/state/state-store.ts';
import { openSqliteStore, openStateStore } from '../../src/state/threaded-store.ts';
import type { ScratchPostgresql } from './postgresql.ts';
import type { QuickstartEnvironment } from './quickstart-environment.ts';
import { recordingLog } from './silent-log.ts';
import { until } from './until.ts';

const startMs = 30_000;

/**
 * Lets a stopped quickstart keep its state in a new database, where its clients are registered with all roles, and which has the key of
 * its digital identity. `settings`: of the state; `more`: members of the configuration. Returns the name of the database.
 */
export async function moveToPostgresql(
  environment: QuickstartEnvironment,
  postgresql: ScratchPostgresql,
  { settings = {}, more = {} }: { readonly settings?: Record<string, unknown>; readonly more?: object } = {},
): Promise<string> {
  const state = await postgresql.newDatabase(settings);
  if (state.kind !== 'postgresql') throw new Error('a database of PostgreSQL');
  const { clients, configFile } = environment.description();
  const store = await openStateStore(state, recordingLog());
  for (const [name, tenant] of Object.entries({ app: 'demo', other: 'other', p384: 'p384', otp: 'otp' })) {
    const certificate = new X509Certificate(readFileSync(clients[name]?.certificate ?? ''));
    await registerClient(store, { certificate, name, tenant, roles });
  }
  await copyIdentity(environment, store);
  await store.close();
  const config = parse(readFileSync(configFile, 'utf8')) as object;
  // The audit log that the quickstart had is ahead of a new database.
  const audit = { directory: join(environment.directory, 'audit-shared'), name: 'shared' };
  writeFileSync(configFile, stringify({ ...config, state, audit, ...more }), { mode: 0o600 });
  return state.database;
}

/** Gives a new state store the key of a stopped quickstart's digital identity, without which its configuration is not right. */
export async function copyIdentity(environment: QuickstartEnvironment, store: StateStore): Promise<void> {
  const { twoDDoc } = environment.description();
  if (twoDDoc === undefined) return;
  const before = await openSqliteStore(join(environment.directory, 'state.sqlite'));
  const key = await before.run('findIdentityKey', { tenant: 'demo', ca: twoDDoc.caId, certificate_id: twoDDoc.certificateId });
  await before.close();
  if (key === undefined) throw new Error('the quickstart has the key of its identity');
  await store.run('announce', { key_id: key.key_id, intent: 'CREATE', created_at: store.now() });
  await store.run('insertIdentityKey', key);
}

/** Starts the gateways of a prepared quickstart, which end when it is removed. */
export async function startGateways({ directory }: QuickstartEnvironment): Promise<void> {
  const [ports, pid] = ['ports.json', 'gateways.pid'].map((name) => join(directory, 'gateways', name));
  if (ports === undefined || pid === undefined) throw new Error('two files');
  rmSync(pid, { force: true });
  const env = { ...process.env, SIGNETD_QUICKSTART_DIRECTORY: directory };
  const gateways = spawn(process.execPath, ['--disable-sigusr1', 'dist/quickstart/gateways.js', ports], {
    env,
    detached: true,
    stdio: 'ignore',
  });
  await until(
    () => {
      if (!existsSync(pid)) throw new Error(`the gateways do not start (exit code ${gateways.exitCode})`);
    },
    { timeoutMs: startMs },
  );
  gateways.unref();
}
