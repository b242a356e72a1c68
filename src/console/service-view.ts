import type { Registry } from 'prom-client';
import { statusView, type StatusSources } from '../admin/status.ts';
import type { StatusView } from '../admin/views.ts';
import type { Config } from '../config/config.ts';
import { LimitsInForce } from '../config/limits-in-force.ts';
import { metricValues } from '../telemetry/metric-values.ts';
import { endsOf } from './ends.ts';
import type { Limits, OpenSessions, Service } from './page/answers.ts';

export interface ServiceSources extends StatusSources {
  readonly config: () => Config;
  readonly metrics: Registry;
  readonly token: { readonly waiting: number; readonly ready: boolean };
}

/** Returns the running service in detail, as far as its parts answer. */
export async function serviceView(sources: ServiceSources): Promise<Omit<Service, 'operator' | 'access' | 'signedInUntil'>> {
  const { metrics, token } = sources;
  const config = sources.config();
  const [status, ends, sessions, pool] = await Promise.all([
    statusView(sources),
    endsOf(metrics, Date.now()),
    openSessions(sources),
    metricValues(metrics, 'signetd_key_pool_keys'),
  ]);
  const { pid, api, configuration, notLoaded, lastReload, tenants, limits, clients, state, audit, keysLeft } = status;
  return {
    ...{ pid, api, configuration, notLoaded, lastReload, tenants, clients, state, audit, ends, sessions },
    limits: limitsInForce(config, limits),
    token: {
      ...{ label: config.token.label, profile: config.token.profile, threads: config.token.threads },
      ...{ isReady: token.ready, waiting: token.waiting, waitingMax: config.token.queueMaxRequests, keysLeft },
      pool: Object.fromEntries(pool.map(({ labels, value }) => [String(labels['type']), value])),
    },
  };
}

/** Returns the limits of each tenant, of each of its clients, and of those that have their own. */
function limitsInForce(config: Config, tenants: StatusView['limits']): Limits[] {
  const limits = new LimitsInForce(config);
  return tenants.flatMap(({ tenant, perClient, ...all }) => [
    shown(tenant, null, all),
    shown(tenant, '', perClient),
    ...limits.named.filter((one) => one.tenant === tenant).map((one) => shown(tenant, one.name, limits.ofClient(one))),
  ]);
}

function shown(
  tenant: string,
  client: string | null,
  { requestsPerSecond, requestsBurst, requestsMax, connectionsMax }: Omit<Limits, 'tenant' | 'client'>,
): Limits {
  return { tenant, client, requestsPerSecond, requestsBurst, requestsMax, connectionsMax };
}

async function openSessions({ store, config }: ServiceSources): Promise<OpenSessions[] | null> {
  const now = store.now();
  const counts = await store.run('countSessions', { now }).catch(() => undefined);
  if (counts === undefined) return null;
  // A session has its end; all have the same length, unless a reload changed it.
  const { ttlSeconds } = config().sessions;
  return counts.map(({ tenant, count, firstEnds, lastEnds }) => ({
    ...{ tenant, count, lastEnds: new Date(lastEnds).toISOString() },
    oldestAgeSeconds: Math.max(0, Math.round(ttlSeconds - (firstEnds - now) / 1000)),
  }));
}
