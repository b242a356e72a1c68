import type { Registry } from 'prom-client';
import type { Caller } from '../clients/caller.ts';
import type { ClientRegistry } from '../clients/registry.ts';
import type { Config } from '../config/config.ts';
import { LimitsInForce } from '../config/limits-in-force.ts';
import type { Participant, Switch } from '../config/reloader.ts';
import type { QuotaSurroundings } from '../http/limits/request-quota.ts';
import type { Keeper } from '../idempotency/kept-answers.ts';
import { refusedRequestMetrics } from '../telemetry/http-metrics.ts';

type Limited = Pick<Config, 'limits' | 'tenants'>;

/**
 * The limits of clients and tenants in force, in the forms that the parts of the service ask for.
 * A reload replaces them.
 */
export class ReloadedLimits implements Participant {
  readonly #clients: ClientRegistry;
  #current: LimitsInForce;
  /** How requests are limited. */
  readonly ofRequests: QuotaSurroundings;
  /** How the bytes of kept answers are limited. */
  readonly ofKeptAnswers: Pick<Keeper, 'limits' | 'refused'>;

  constructor(config: Limited, clients: ClientRegistry, registry: Registry) {
    this.#clients = clients;
    this.#current = new LimitsInForce(config);
    const refused = refusedRequestMetrics(registry);
    this.ofRequests = { registered: (client) => clients.remembered(client), refused };
    this.ofKeptAnswers = {
      limits: (client, tenant) => ({
        client: this.#current.ofClient(clients.remembered(client)).keptAnswersMaxBytes,
        tenant: this.#current.ofTenant(tenant).keptAnswersMaxBytes,
        all: this.#current.all.keptAnswersMaxBytes,
      }),
      refused: (tenant, whose) => {
        if (whose !== 'all') refused({ tenant, scope: whose, limit: 'keptAnswersMaxBytes' });
      },
    };
  }

  get current(): LimitsInForce {
    return this.#current;
  }

  /** Connections that a client, and all clients of its tenant, may have. */
  ofConnections(client: Caller): { readonly client: number; readonly tenant: number } {
    return { client: this.#current.ofClient(client).connectionsMax, tenant: this.#current.ofTenant(client.tenant).connectionsMax };
  }

  /** Returns a sentence for each client with limits that is not registered: its name may be wrong. */
  warnings(): Record<string, string> {
    const unknown = this.#current.named.filter((client) => !this.#clients.hasNamed(client));
    return Object.fromEntries(
      unknown.map(({ tenant, name }) => [
        `limits of ${name}`,
        `tenants.${tenant}.limits.clients: no client "${name}" is registered for ${tenant}, so its limits apply to nobody`,
      ]),
    );
  }

  prepare(next: Limited): Switch {
    const prepared = new LimitsInForce(next);
    return () => {
      this.#current = prepared;
    };
  }
}
