import { checkProfiles } from '../certificates/profile-check.ts';
import { openAuthorities, openClientAuthority } from '../certificates/configured-authorities.ts';
import type { CertificateIssuer } from '../certificates/issue.ts';
import { IdentityProviders } from '../certificates/jwt/identity-providers.ts';
import type { Caller } from '../clients/caller.ts';
import type { ClientRegistry } from '../clients/registry.ts';
import type { Config } from '../config/config.ts';
import { ConfigError } from '../config/config-error.ts';
import type { Participant, Switch } from '../config/reloader.ts';
import type { RequestServices } from '../http/api/request-services.ts';
import { parseTokenJson } from '../http/json/strict-json.ts';
import { callerAtOnce, callerOf } from '../http/tls/mtls-listener.ts';
import type { Deliver } from '../keys/otp.ts';
import { deliverOtp, Messenger, type MessengerSurroundings } from '../messages/messenger.ts';
import type { Context } from '../operations/operation.ts';
import type { LevelServices } from '../signatures/levels/level-order.ts';
import type { StateStore } from '../state/state-store.ts';
import { DigitalIdentities } from '../twoddoc/identities/digital-identities.ts';
import type { TokenClient } from '../token/client/token-client.ts';
import type { Token } from '../token/token.ts';
import { keysOf } from './key-options.ts';
import { tenantLevels } from './level-services.ts';
import type { OpenedDocuments } from './open-documents.ts';
import type { PublishedServices } from './published-services.ts';

export type Authorities = ReadonlyMap<string, CertificateIssuer>;

/** What requests use under every configuration. */
interface LastingServices
  extends
    Pick<Context, 'keys' | 'sessions' | 'threads'>,
    Pick<RequestServices, 'guard' | 'log' | 'audit' | 'metrics' | 'keptAnswers' | 'draining'>,
    OpenedDocuments {
  readonly store: StateStore;
  readonly token: TokenClient;
  /** The same token, with its uses told to the requests that they are made for. */
  readonly recordedToken: Token;
  readonly clients: ClientRegistry;
  readonly published: PublishedServices;
  readonly messageMetrics: MessengerSurroundings['metrics'];
}

/**
 * What is made of one configuration. It never changes: a reload makes another, and replaces it as a
 * whole.
 */
interface ConfiguredServices extends Pick<Context, 'config' | 'authorities' | 'identities' | 'messages' | 'identityProviders'> {
  readonly levels: LevelServices;
  readonly requests: RequestServices;
}

/** Holds what is made of the configuration in force. */
export class ServicesInForce implements Participant {
  readonly #lasting: LastingServices;
  #current: ConfiguredServices;

  /** @throws {ConfigError} where a part cannot work by the configuration */
  constructor(lasting: LastingServices, config: Config, authorities: Authorities) {
    this.#lasting = lasting;
    this.#current = configuredServices(lasting, config, authorities);
  }

  get authorities(): Authorities {
    return this.#current.authorities;
  }

  /** An authority whose key the token has: a retired one has none there. */
  get signer(): Pick<CertificateIssuer, 'sign'> | undefined {
    const { config, authorities } = this.#current;
    return [...authorities].find(([name]) => config.certificateAuthorities[name]?.retired !== true)?.[1];
  }

  /** The digital identities of the configuration in force. */
  get identities(): DigitalIdentities {
    return this.#current.identities;
  }

  /** What a request that comes now uses until its end. */
  get requests(): RequestServices {
    return this.#current.requests;
  }

  async prepare(next: Config): Promise<Switch> {
    const { recordedToken, keys, published } = this.#lasting;
    const authorities = await openAuthorities(recordedToken, next.certificateAuthorities);
    const ofClients = openClientAuthority(recordedToken, next);
    checkProfiles(next.tenants, authorities);
    const prepared = configuredServices(this.#lasting, next, authorities, this.#current.identityProviders);
    const faults = await prepared.identities.keyFaults();
    if (faults.length > 0) {
      prepared.messages.close();
      throw new ConfigError(faults.join('\n'));
    }
    return () => {
      keys.destruction.keep(keysOf(next));
      published.use(next, { authorities, ofClients });
      this.#current = prepared;
    };
  }

  close(): void {
    this.#current.messages.close();
  }
}

function configuredServices(
  lasting: LastingServices,
  config: Config,
  authorities: Authorities,
  formerProviders?: IdentityProviders,
): ConfiguredServices {
  const { store, log, keys, threads, published, messageMetrics: metrics } = lasting;
  const identities = new DigitalIdentities(config.tenants, keys);
  const messages = new Messenger(config.messages, { store, log, threads, metrics });
  const identityProviders = new IdentityProviders(config.identityProviders, { store, log, parseJson: parseTokenJson }, formerProviders);
  const levels = published.levels(config, authorities, threads);
  const configured = { config, authorities, identities, messages, identityProviders, levels };
  return { ...configured, requests: requestServices(lasting, configured) };
}

function requestServices(lasting: LastingServices, { levels, ...configured }: Omit<ConfiguredServices, 'requests'>): RequestServices {
  const { guard, log, audit, metrics, keptAnswers, publications, transfers, draining, token, clients, published } = lasting;
  const { keys, sessions, threads, stagedNames } = lasting;
  const { config } = configured;
  const withTenant = (caller: Caller | undefined): Caller | undefined =>
    caller !== undefined && Object.hasOwn(config.tenants, caller.tenant) ? caller : undefined;
  return {
    ...{ guard, log, audit, metrics, keptAnswers, publications, transfers, draining },
    limits: config.limits,
    busySeconds: (sender) => token.busySeconds(sender),
    callerAtOnce: (request) => withTenant(callerAtOnce(request, clients)),
    callerOf: async (request) => withTenant(await callerOf(request, clients)),
    admit: (caller, role, cut) => clients.admit(caller, role, cut),
    context: (caller, details, run) => ({
      ...configured,
      ...{ caller, keys, token, sessions, threads, transfers, stagedNames, ...run },
      revocations: published.revocations,
      audit: details,
      deliver: otpDelivery(configured, caller),
      levels: tenantLevels(levels, config, caller),
    }),
  };
}

/** How one-time passwords reach the subscribers of a caller's tenant, in the tenant's words. */
function otpDelivery({ config, messages }: Pick<Context, 'config' | 'messages'>, { tenant }: Caller): Deliver | undefined {
  const text = config.tenants[tenant]?.otpText ?? config.messages?.otpText;
  return text === undefined || config.messages === undefined
    ? undefined
    : async (subscriber, otp) => deliverOtp(messages, text, subscriber, otp);
}
