import type { RequestListener, Server } from 'node:http';
import type { Config } from '../config/config.ts';
import { createApiListener, type ApiListener, type Witnesses } from '../http/tls/mtls-listener.ts';
import type { Draining } from '../service/draining.ts';
import { addressOf, listen } from '../service/listen.ts';
import { listenerMetrics, refusedClientMetrics } from '../telemetry/http-metrics.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Parts } from './parts.ts';

/** The service's servers, by the names of their listeners in the configuration. */
export interface Servers {
  readonly api: Server;
  readonly operations: Server;
  readonly public: Server | undefined;
}

export type Addresses = { readonly [Name in keyof Servers]: string | undefined };

/**
 * Makes the API's listener, with its metrics.
 * @throws {TlsMaterialError} for files that cannot be used
 */
export function openApiListener(
  { listeners, limits, transferStore }: Config,
  handler: RequestListener,
  { parts, metrics, ...witnesses }: Omit<Witnesses, 'refused'> & { readonly parts: Parts; readonly metrics: Metrics },
): ApiListener {
  const refused = refusedClientMetrics(metrics.registry);
  // A whole request may take as long as the longest of its kinds.
  const requestTimeoutSeconds = Math.max(limits.requestTimeoutSeconds, transferStore?.uploadTimeoutSeconds ?? 0);
  const connectionLimits = { ...limits, requestTimeoutSeconds };
  const areFetched = witnesses.fetched !== undefined || listeners.api.clientRevocationUrls.length === 0;
  const listener = createApiListener(listeners.api, connectionLimits, handler, { ...witnesses, refused });
  listenerMetrics(metrics.registry, {
    connections: async () => listener.connections(),
    unadmittedConnections: () => listener.unadmittedConnections(),
    certificateEndsMs: () => listener.tls.certificateEndsMs,
    // Where nobody fetches CRLs yet, it is not known when the first of them ends.
    revocationListEndsMs: () => (areFetched ? listener.tls.revocationListEndsMs : undefined),
  });
  return parts.opened('refusals of the API', listener, ({ refusals }) => {
    refusals.stop();
  });
}

/**
 * Has servers drain at a stop, and closes those that listen after a failed start. Before they
 * listen.
 */
export function watchServers(servers: Servers, { draining, parts }: { readonly draining: Draining; readonly parts: Parts }): void {
  const all = [servers.api, servers.operations, ...(servers.public === undefined ? [] : [servers.public])];
  for (const server of all) draining.watch(server);
  parts.opened('listeners', all, () => {
    // At a stop they are drained and closed already.
    for (const server of all) if (server.listening) server.close().closeAllConnections();
  });
}

/**
 * Listens on the sockets that the service manager holds, else at the configured addresses.
 * @throws {Error} where it cannot
 */
export async function listenAll(
  servers: Servers,
  listeners: Config['listeners'],
  sockets: ReadonlyMap<string, number>,
): Promise<Addresses> {
  await listen(servers.api, listeners.api, sockets.get('api'));
  await listen(servers.operations, listeners.operations, sockets.get('operations'));
  if (servers.public !== undefined && listeners.public !== undefined) await listen(servers.public, listeners.public, sockets.get('public'));
  return {
    api: addressOf(servers.api),
    operations: addressOf(servers.operations),
    public: servers.public === undefined ? undefined : addressOf(servers.public),
  };
}
