import { spawn, type ChildProcess } from 'node:child_process';
import { randomInt, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { registerClient } from '../../src/clients/registry.ts';
import { loadTokenConfig } from '../../src/config/config.ts';
import { openStateStore } from '../../src/state/threaded-store.ts';
import { DaemonProcess } from './daemon-process.ts';
import { ScratchPostgresql } from './postgresql.ts';
import type { QuickstartEnvironment } from './quickstart-environment.ts';
import { recordingLog } from './silent-log.ts';
import { until } from './until.ts';

export interface Instance {
  readonly daemon: DaemonProcess;
  readonly baseUrl: string;
}

/** Two daemons, one PostgreSQL, one token host, which neither of them started: it lives when they are killed. */
export class TwoDaemons {
  readonly postgresql: ScratchPostgresql;
  readonly database: string;
  readonly instances: readonly [Instance, Instance];
  readonly #host: ChildProcess;

  private constructor(postgresql: ScratchPostgresql, database: string, instances: readonly [Instance, Instance], host: ChildProcess) {
    this.postgresql = postgresql;
    this.database = database;
    this.instances = instances;
    this.#host = host;
  }

  /** From a quickstart, which is stopped before; `more` goes into both configurations. The client `other` is registered with both. */
  static async start(environment: QuickstartEnvironment, more: object = {}): Promise<TwoDaemons> {
    environment.prepare();
    const postgresql = await ScratchPostgresql.start();
    const state = await postgresql.newDatabase();
    if (state.kind !== 'postgresql') throw new Error('a database of PostgreSQL');
    const { configFile, clients } = environment.description();
    const store = await openStateStore(state, recordingLog());
    const certificate = new X509Certificate(readFileSync(clients['other']?.certificate ?? ''));
    await registerClient(store, { certificate, name: 'other', tenant: 'other', roles: ['keys', 'signature'] });
    await store.close();
    const host = await startTokenHost(configFile);

    const port = randomInt(20_000, 29_990);
    const config = parse(readFileSync(configFile, 'utf8')) as Record<string, Record<string, Record<string, unknown>>>;
    const instance = async (name: string, api: number): Promise<Instance> => {
      const own = {
        ...config,
        listeners: {
          api: { ...config['listeners']?.['api'], port: api },
          operations: { ...config['listeners']?.['operations'], port: api + 1 },
        },
        token: { ...config['token'], host: 'external' },
        state,
        // Keys on the token are counted.
        keyPool: { keys: 0 },
        admin: { socketPath: join(environment.directory, `${name}.sock`) },
        audit: { directory: join(environment.directory, `audit-${name}`), name },
        ...more,
      };
      const path = join(environment.directory, `${name}.yaml`);
      writeFileSync(path, stringify(own), { mode: 0o600 });
      const daemon = new DaemonProcess(path, `http://127.0.0.1:${api + 1}`);
      await daemon.start();
      return { daemon, baseUrl: `https://127.0.0.1:${api}` };
    };
    return new TwoDaemons(postgresql, state.database, [await instance('a', port), await instance('b', port + 2)], host);
  }

  async stop(): Promise<void> {
    for (const { daemon } of this.instances) await daemon.stop();
    this.#host.kill();
    await once(this.#host, 'exit');
    await this.postgresql.remove();
  }
}

/** Starts a token host that lives when daemons are killed, and waits until it listens. */
export async function startTokenHost(configFile: string): Promise<ChildProcess> {
  const token = loadTokenConfig(configFile);
  const host = spawn(process.execPath, ['--disable-sigusr1', '--jitless', 'dist/token-host.js', '--config', configFile], {
    env: { PATH: process.env['PATH'], ...token.environment },
    stdio: 'ignore',
  });
  await until(
    () => {
      if (!existsSync(token.socketPath)) throw new Error('the token host does not listen');
    },
    { timeoutMs: 120_000 },
  );
  return host;
}
