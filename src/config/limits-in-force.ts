import { maxOfTenant, type LimitsConfig } from './limits-config.ts';
import type { TenantLimitsConfig } from './tenant-limits-config.ts';

/** The limits of one client. */
export interface ClientLimits {
  readonly requestsPerSecond: number;
  readonly requestsBurst: number;
  readonly requestsMax: number;
  readonly bodiesMaxBytes: number;
  readonly keptAnswersMaxBytes: number;
  readonly otpsPerMinute: number;
  readonly messagesPerMinute: number;
  readonly connectionsMax: number;
}

/** The limits of all clients of a tenant together. */
export interface TenantLimits extends Omit<ClientLimits, 'requestsPerSecond' | 'requestsBurst' | 'otpsPerMinute' | 'messagesPerMinute'> {
  /** Undefined: each client has only its own rate. */
  readonly rate: { readonly requestsPerSecond: number; readonly requestsBurst: number } | undefined;
}

/** A registered client, as the configuration names it. */
export interface NamedClient {
  readonly tenant: string;
  readonly name: string;
}

interface Configured {
  readonly limits: LimitsConfig;
  readonly tenants: Readonly<Record<string, { readonly limits: TenantLimitsConfig }>>;
}

interface OfTenant {
  readonly own: TenantLimits;
  readonly each: ClientLimits;
  readonly named: ReadonlyMap<string, ClientLimits>;
}

/** A burst, unless the configuration sets one, in seconds at the rate. */
const burstSeconds = 2;

/**
 * The limits that one configuration sets for each client and each tenant. No client has more than
 * its tenant.
 */
export class LimitsInForce {
  /** Limits of all clients together. */
  readonly all: LimitsConfig;
  /** Of a client whose tenant is not known, or not configured. */
  readonly #strangers: ClientLimits;
  readonly #shareOfTenant: TenantLimits;
  readonly #tenants: ReadonlyMap<string, OfTenant>;

  constructor({ limits, tenants }: Configured) {
    this.all = limits;
    this.#shareOfTenant = shareOfTenant(limits, Object.keys(tenants).length);
    this.#strangers = defaultsOfClient(limits);
    this.#tenants = new Map(Object.entries(tenants).map(([name, tenant]) => [name, this.#ofTenant(tenant.limits)]));
  }

  ofTenant(tenant: string): TenantLimits {
    return this.#tenants.get(tenant)?.own ?? this.#shareOfTenant;
  }

  /** `undefined`: a client that is not registered. */
  ofClient(client: NamedClient | undefined): ClientLimits {
    const ofTenant = client === undefined ? undefined : this.#tenants.get(client.tenant);
    if (client === undefined || ofTenant === undefined) return this.#strangers;
    return ofTenant.named.get(client.name) ?? ofTenant.each;
  }

  /** Returns the limits of the tenant's clients that the configuration does not name. */
  ofOthers(tenant: string): ClientLimits {
    return this.#tenants.get(tenant)?.each ?? this.#strangers;
  }

  /** Returns the clients that the configuration sets limits for by name. */
  get named(): NamedClient[] {
    return [...this.#tenants].flatMap(([tenant, { named }]) => [...named.keys()].map((name) => ({ tenant, name })));
  }

  #ofTenant(set: TenantLimitsConfig): OfTenant {
    const share = this.#shareOfTenant;
    const { perClient, clients, requestsPerSecond, requestsBurst } = set;
    const rate =
      requestsPerSecond === undefined ? undefined : { requestsPerSecond, requestsBurst: requestsBurst ?? burstSeconds * requestsPerSecond };
    const own: TenantLimits = {
      rate,
      requestsMax: set.requestsMax ?? share.requestsMax,
      bodiesMaxBytes: set.bodiesMaxBytes ?? share.bodiesMaxBytes,
      keptAnswersMaxBytes: set.keptAnswersMaxBytes ?? share.keptAnswersMaxBytes,
      connectionsMax: set.connectionsMax ?? share.connectionsMax,
    };
    const each = withChanges(defaultsOfClient(this.all), perClient);
    const named = Object.entries(clients).map(([name, changes]) => [name, atMost(own, withChanges(each, changes))] as const);
    return { own, each: atMost(own, each), named: new Map(named) };
  }
}

function defaultsOfClient(limits: LimitsConfig): ClientLimits {
  return {
    requestsPerSecond: limits.requestsPerSecond,
    requestsBurst: limits.requestsBurst,
    requestsMax: limits.requestsMaxPerClient,
    bodiesMaxBytes: limits.bodiesMaxBytesPerClient,
    keptAnswersMaxBytes: limits.keptAnswersMaxBytesPerClient,
    otpsPerMinute: limits.otpsPerMinute,
    messagesPerMinute: limits.messagesPerMinute,
    connectionsMax: limits.connectionsMaxPerClient ?? limits.connectionsMax,
  };
}

/** Of so many tenants, what each may have unless the configuration says otherwise. */
function shareOfTenant(limits: LimitsConfig, tenants: number): TenantLimits {
  const { requestsMax, bodiesMaxBytes, keptAnswersMaxBytes, connectionsMax } = limits;
  return {
    rate: undefined,
    requestsMax: maxOfTenant(tenants, { all: requestsMax, client: limits.requestsMaxPerClient }),
    bodiesMaxBytes: maxOfTenant(tenants, { all: bodiesMaxBytes, client: limits.bodiesMaxBytesPerClient }),
    keptAnswersMaxBytes: maxOfTenant(tenants, { all: keptAnswersMaxBytes, client: limits.keptAnswersMaxBytesPerClient }),
    connectionsMax: tenants > 1 ? Math.ceil(connectionsMax / 2) : connectionsMax,
  };
}

function withChanges(defaults: ClientLimits, changes: TenantLimitsConfig['perClient']): ClientLimits {
  const { requestsPerSecond, requestsBurst } = changes;
  const burst = requestsBurst ?? (requestsPerSecond === undefined ? undefined : burstSeconds * requestsPerSecond);
  const set = Object.entries({ ...changes, requestsBurst: burst }).filter(([, value]) => value !== undefined);
  return { ...defaults, ...Object.fromEntries(set) };
}

function atMost({ rate, ...tenant }: TenantLimits, client: ClientLimits): ClientLimits {
  return {
    ...client,
    requestsPerSecond: Math.min(client.requestsPerSecond, rate?.requestsPerSecond ?? Infinity),
    requestsBurst: Math.min(client.requestsBurst, rate?.requestsBurst ?? Infinity),
    requestsMax: Math.min(client.requestsMax, tenant.requestsMax),
    bodiesMaxBytes: Math.min(client.bodiesMaxBytes, tenant.bodiesMaxBytes),
    keptAnswersMaxBytes: Math.min(client.keptAnswersMaxBytes, tenant.keptAnswersMaxBytes),
    connectionsMax: Math.min(client.connectionsMax, tenant.connectionsMax),
  };
}

const shared = ['requestsMax', 'bodiesMaxBytes', 'keptAnswersMaxBytes', 'connectionsMax'] as const;
const rates = ['requestsPerSecond', 'requestsBurst'] as const;

interface LimitFault {
  readonly path: readonly string[];
  readonly message: string;
}

/** Returns the faults in the limits of tenants and their clients. */
export function tenantLimitFaults(configured: Configured): LimitFault[] {
  const { limits, tenants } = configured;
  const inForce = new LimitsInForce(configured);
  return Object.entries(tenants).flatMap(([name, { limits: set }]) => {
    const path = ['tenants', name, 'limits'];
    const own = inForce.ofTenant(name);
    const clients = Object.entries(set.clients).map(([client, changes]) => ({ path: [...path, 'clients', client], changes }));
    return [
      ...(set.requestsBurst !== undefined && set.requestsPerSecond === undefined
        ? [{ path: [...path, 'requestsBurst'], message: 'requires requestsPerSecond beside it' }]
        : []),
      ...shared.flatMap((member) => above([...path, member], set[member], limits[member], `limits.${member}, which all tenants share`)),
      ...tooSmall(path, set, limits),
      ...[{ path: [...path, 'perClient'], changes: set.perClient }, ...clients].flatMap(({ path: place, changes }) => [
        ...shared.flatMap((member) => above([...place, member], changes[member], own[member], `${member} of the tenant`)),
        ...rates.flatMap((member) => above([...place, member], changes[member], own.rate?.[member], `${member} of the tenant`)),
        ...tooSmall(place, changes, limits),
      ]),
    ];
  });
}

function above(path: readonly string[], value: number | undefined, most: number | undefined, whose: string): LimitFault[] {
  if (value === undefined || most === undefined || value <= most) return [];
  return [{ path, message: `must be at most ${most}: ${whose}` }];
}

function tooSmall(
  place: readonly string[],
  { bodiesMaxBytes }: { readonly bodiesMaxBytes?: number | undefined },
  { jsonBodyMaxBytes }: LimitsConfig,
): LimitFault[] {
  if (bodiesMaxBytes === undefined || bodiesMaxBytes >= jsonBodyMaxBytes) return [];
  const message = `must be at least ${jsonBodyMaxBytes} (limits.jsonBodyMaxBytes), or bodies of that size would never fit`;
  return [{ path: [...place, 'bodiesMaxBytes'], message }];
}
