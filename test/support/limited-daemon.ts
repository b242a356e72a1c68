import { readFileSync, writeFileSync } from 'node:fs';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import type { Addresses } from './daemon-process.ts';
import { OwnService } from './own-service.ts';
import type { Peer } from './raw-connection.ts';

export interface LimitedDaemon extends Addresses {
  readonly directory: string;
  peer(client: string): Peer;
  /** Bytes of resident memory of the daemon. */
  residentBytes(): Promise<number>;
  remove(): Promise<void>;
}

/** A service of its own with the limits given. */
export async function daemonWithLimits(limits: Readonly<Record<string, number>>): Promise<LimitedDaemon> {
  const service = await OwnService.start((environment) => {
    const { configFile } = environment.description();
    const config = z.looseObject({ limits: z.record(z.string(), z.number()) }).parse(parse(readFileSync(configFile, 'utf8')));
    writeFileSync(configFile, stringify({ ...config, limits: { ...config.limits, ...limits } }));
  });
  const { baseUrl, opsUrl, environment, description } = service;
  const { caCertificate, clients } = description;
  return {
    baseUrl,
    opsUrl,
    directory: environment.directory,
    peer(client) {
      const files = clients[client];
      if (files === undefined) throw new Error(`no client ${client}`);
      return { baseUrl, caCertificate, ...files };
    },
    async residentBytes() {
      const { pid } = z.object({ pid: z.int() }).parse(await (await fetch(`${opsUrl}/health/ready`)).json());
      return 1024 * Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
    },
    remove: async () => service.remove(),
  };
}
