import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { roles } from '../../src/clients/caller.ts';
import { registerClient } from '../../src/clients/registry.ts';
import { loadTokenConfig } from '../../src/config/config.ts';
import { openStateStore } from '../../src/state/threaded-store.ts';
import { noBalancer, startBalancer } from './balancer.ts';
import { DaemonProcess } from './daemon-process.ts';
import { noP11Kit, P11KitServer } from './p11-kit-server.ts';
import { ScratchPostgresql } from './postgresql.ts';
import { copyIdentity } from './quickstart-postgresql.ts';
import { quickstartEnvironment, type QuickstartEnvironment } from './quickstart-environment.ts';
import { recordingLog } from './silent-log.ts';
import { startTokenHost } from './two-daemons.ts';

/** Why several instances cannot be tried here; undefined where they can. */
export const noSeveralInstances = noBalancer ?? noP11Kit;

export interface FullInstance {
  readonly name: string;
  readonly daemon: DaemonProcess;
  readonly configPath: string;
  readonly auditDirectory: string;
  readonly baseUrl: string;
  readonly publicUrl: string;
  readonly opsUrl: string;
}

const names = ['a', 'b'] as const;

/**
 * Two instances as docs/several-instances.md sets them up: each with its configuration and audit log, over one PostgreSQL server, one
 * token that p11-kit offers, and a balancer. They share a token host: `p11-kit server` has a process for each connection, and processes
 * of SoftHSM take changes of each other for invalid handles, which those of an HSM do not.
 */
export class SeveralInstances {
  readonly environment: QuickstartEnvironment;
  readonly postgresql: ScratchPostgresql;
  readonly database: string;
  readonly instances: readonly [FullInstance, FullInstance];
  /** Of the balancer. */
  readonly baseUrl: string;
  readonly publicUrl: string;
  /** What has to end, the last first. */
  readonly #ends: (() => Promise<void>)[];

  private constructor(parts: {
    readonly environment: QuickstartEnvironment;
    readonly postgresql: ScratchPostgresql;
    readonly database: string;
    readonly instances: readonly [FullInstance, FullInstance];
    readonly ports: { readonly api: number; readonly public: number };
    readonly ends: (() => Promise<void>)[];
  }) {
    ({ environment: this.environment, postgresql: this.postgresql, database: this.database, instances: this.instances } = parts);
    this.#ends = parts.ends;
    this.baseUrl = `https://127.0.0.1:${parts.ports.api}`;
    this.publicUrl = `http://127.0.0.1:${parts.ports.public}`;
  }

  /** `more`: members of both configurations. `reached`: returns the host by which instances reach the database, before they start. */
  static async start(more: object = {}, reached?: (postgresql: ScratchPostgresql) => Promise<string>): Promise<SeveralInstances> {
    const ends: (() => Promise<void>)[] = [];
    try {
      return await SeveralInstances.#start(more, reached, ends);
    } catch (error) {
      await endAll(ends);
      throw error;
    }
  }

  static async #start(
    more: object,
    reached: ((postgresql: ScratchPostgresql) => Promise<string>) | undefined,
    ends: (() => Promise<void>)[],
  ): Promise<SeveralInstances> {
    const environment = quickstartEnvironment();
    ends.push(async () => {
      environment.remove();
      return Promise.resolve();
    });
    environment.prepare();
    const { configFile, clients } = environment.description();
    const postgresql = await ScratchPostgresql.start();
    ends.push(async () => postgresql.remove());
    const state = await postgresql.newDatabase();
    if (state.kind !== 'postgresql') throw new Error('a database of PostgreSQL');
    const store = await openStateStore(state, recordingLog());
    for (const [name, tenant] of [
      ['other', 'other'],
      ['app', 'demo'],
    ] as const) {
      const certificate = new X509Certificate(readFileSync(clients[name]?.certificate ?? ''));
      await registerClient(store, { certificate, name, tenant, roles });
    }
    await copyIdentity(environment, store);
    await store.close();
    const databaseHost = (await reached?.(postgresql)) ?? state.host;

    const config = parse(readFileSync(configFile, 'utf8')) as Record<string, Record<string, Record<string, unknown>>>;
    const server = await P11KitServer.start(loadTokenConfig(configFile), join(environment.directory, 'p11-kit.sock'));
    ends.push(async () => server.stop());
    const token = server.configOf(config['token'] ?? {});
    const hostConfig = join(environment.directory, 'host.yaml');
    writeFileSync(hostConfig, stringify({ ...config, token }), { mode: 0o600 });
    const host = await startTokenHost(hostConfig);
    ends.push(async () => {
      host.kill();
      await once(host, 'exit');
    });
    // The environment has ten ports, and its gateways are not started.
    const first = Number(new URL(environment.description().baseUrl).port);
    const ports = { api: first, public: first + 1 };
    const of = (index: number): { readonly api: number; readonly operations: number; readonly public: number } => ({
      api: first + 2 + 4 * index,
      operations: first + 3 + 4 * index,
      public: first + 4 + 4 * index,
    });
    const instance = (name: string, index: number): FullInstance => {
      const { api, operations, public: publicPort } = of(index);
      const auditDirectory = join(environment.directory, `audit-${name}`);
      const own = {
        ...config,
        listeners: {
          api: { ...config['listeners']?.['api'], port: api },
          operations: { ...config['listeners']?.['operations'], port: operations },
          public: { ...config['listeners']?.['public'], port: publicPort },
        },
        token: { ...token, host: 'external' },
        state: { ...state, host: databaseHost },
        admin: { socketPath: join(environment.directory, `${name}.sock`) },
        audit: { directory: auditDirectory, name },
        ...more,
      };
      const configPath = join(environment.directory, `${name}.yaml`);
      writeFileSync(configPath, stringify(own), { mode: 0o600 });
      const opsUrl = `http://127.0.0.1:${operations}`;
      const urls = { baseUrl: `https://127.0.0.1:${api}`, publicUrl: `http://127.0.0.1:${publicPort}`, opsUrl };
      return { name, daemon: new DaemonProcess(configPath, opsUrl), configPath, auditDirectory, ...urls };
    };
    const instances = [instance(names[0], 0), instance(names[1], 1)] as const;
    for (const { daemon } of instances) {
      ends.push(async () => daemon.stop());
      await daemon.start();
    }
    const balancer = await startBalancer(
      ports,
      names.map((name, index) => ({ name, ...of(index) })),
    );
    ends.push(async () => balancer.stop());
    return new SeveralInstances({ environment, postgresql, database: state.database, instances, ports, ends });
  }

  async stop(): Promise<void> {
    await endAll(this.#ends);
  }
}

async function endAll(ends: (() => Promise<void>)[]): Promise<void> {
  for (const end of ends.splice(0).toReversed()) await end();
}
