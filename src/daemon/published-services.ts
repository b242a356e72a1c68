import type { Server } from 'node:http';
import type { Registry } from 'prom-client';
import type { Audit } from '../audit/audit.ts';
import { CrlPublishers } from '../certificates/crl/crl-publishers.ts';
import type { CertificateIssuer } from '../certificates/issue.ts';
import { OcspResponders } from '../certificates/ocsp/ocsp-responders.ts';
import type { ResponderTools } from '../certificates/ocsp/responder-keys.ts';
import { SigningLimit, type SigningLimitSettings } from '../certificates/ocsp/signing-limit.ts';
import { Revocations } from '../certificates/revocations.ts';
import type { ClientRegistry } from '../clients/registry.ts';
import type { Config } from '../config/config.ts';
import { ocsp } from '../http/public/ocsp.ts';
import { createPublicServer } from '../http/public/public-listener.ts';
import { publishedPki, type PublicHandler } from '../http/public/published-pki.ts';
import { timeStamps } from '../http/public/time-stamps.ts';
import type { LevelServices } from '../signatures/levels/level-order.ts';
import type { StateStore } from '../state/state-store.ts';
import { crlMetrics, ocspMetrics, timeStampMetrics } from '../telemetry/authority-metrics.ts';
import { publicListenerMetrics } from '../telemetry/http-metrics.ts';
import type { Logger } from '../telemetry/log.ts';
import { outgoingMetrics } from '../telemetry/outgoing-metrics.ts';
import type { WorkThreads } from '../threads/work-threads.ts';
import type { Token } from '../token/token.ts';
import { levelServices } from './level-services.ts';
import { OwnTimeStampAuthority } from './own-time-stamp-authority.ts';
import type { End } from './reminders.ts';

/** Fewer than the token serves at once, so that callers find it free. */
const atOnceMax = 4;
const waitingMax = 100;
const hourMs = 60 * 60 * 1000;

type Authorities = ReadonlyMap<string, CertificateIssuer>;

/** The authorities of one configuration, by name. */
export interface OpenedAuthorities {
  readonly authorities: Authorities;
  /** The CA of TLS clients, if its CRLs are published. */
  readonly ofClients: Authorities;
}

interface Tools {
  readonly store: StateStore;
  readonly token: Token;
  readonly undoing: ResponderTools['undoing'];
  readonly clients: Pick<ClientRegistry, 'onRevoked'>;
  readonly audit: Audit;
  readonly registry: Registry;
  readonly log: Logger;
}

/**
 * The CRLs, OCSP answers, certificates and time-stamps that the service publishes. Signatures use
 * them without HTTP.
 */
export class PublishedServices {
  readonly revocations: Revocations;
  /**
   * Takes part in a reload before the authorities do: their OCSP responders answer for its
   * certificates.
   */
  readonly timeStampAuthority: OwnTimeStampAuthority;
  readonly #crls: CrlPublishers;
  readonly #ocspResponders: OcspResponders;
  /** Told how each request to another server ended. */
  readonly asked: ReturnType<typeof outgoingMetrics>;
  readonly #handlers: readonly PublicHandler[];
  readonly #registry: Registry;

  private constructor(
    { store, clients, registry, log }: Tools,
    config: Config,
    parts: {
      crls: CrlPublishers;
      ocspResponders: OcspResponders;
      timeStampAuthority: OwnTimeStampAuthority;
      stamped: ReturnType<typeof timeStampMetrics>;
    },
  ) {
    const { crls, ocspResponders, timeStampAuthority, stamped } = parts;
    this.#crls = crls;
    this.#ocspResponders = ocspResponders;
    this.timeStampAuthority = timeStampAuthority;
    this.#registry = registry;
    this.asked = outgoingMetrics(registry, log);
    crlMetrics(registry, () => crls.ends());
    this.revocations = new Revocations(store, {
      changed: (authority, serialNumber) => {
        crls.changed(authority);
        ocspResponders.changed(authority, serialNumber);
      },
      hasRetired: (authority) => crls.hasRetired(authority),
    });
    clients.onRevoked(() => {
      crls.someChanged();
    });
    const limit = new SigningLimit(timeStampLimits(config));
    this.#handlers = [
      ocsp(
        (name) => ocspResponders.find(name),
        ocspMetrics(registry, () => ocspResponders.ends()),
      ),
      publishedPki((name) => crls.find(name)),
      timeStamps({ authority: () => timeStampAuthority.authority, limit, failed: stamped, log }),
    ];
  }

  /**
   * Resolves when each authority has its CRL and its responder, or has failed to get one, which is
   * tried again.
   * @throws {Error} for a time-stamp authority that could not work
   */
  static async open(tools: Tools, config: Config, { authorities, ofClients }: OpenedAuthorities): Promise<PublishedServices> {
    const { store, token, undoing, audit, registry, log } = tools;
    const crls = new CrlPublishers(store, log);
    const stamped = timeStampMetrics(registry, () => timeStampAuthority.certificateEndsMs);
    const timeStampAuthority = await OwnTimeStampAuthority.open(token, config, { answered: stamped, log });
    await crls.use(...published(config, { authorities, ofClients }));
    const ocspResponders = new OcspResponders({ store, token, undoing, audit, log }, ocspLimits(config));
    await ocspResponders.use(authorities, config.certificateAuthorities, timeStampAuthority.certificates);
    return new PublishedServices(tools, config, { crls, ocspResponders, timeStampAuthority, stamped });
  }

  /** Uses these from now on. */
  use(config: Config, { authorities, ofClients }: OpenedAuthorities): void {
    void this.#crls.use(...published(config, { authorities, ofClients }));
    void this.#ocspResponders.use(authorities, config.certificateAuthorities, this.timeStampAuthority.certificates);
  }

  /**
   * Makes what signatures above baseline B need under a configuration.
   * @throws {ConfigError} for files that cannot be used
   */
  levels(config: Config, authorities: Authorities, threads: WorkThreads): LevelServices {
    return levelServices(config, {
      ...{ authorities, threads, crls: this.#crls, ocspResponders: this.#ocspResponders, asked: this.asked },
      timeStampAuthority: () => this.timeStampAuthority.authority,
    });
  }

  /**
   * Returns the ends of CRLs and of OCSP responders' certificates, which are renewed long before
   * them.
   */
  ends({ certificateAuthorities, clientAuthority }: Pick<Config, 'certificateAuthorities' | 'clientAuthority'>): End[] {
    const remedy = 'the log says why it is not renewed';
    const endOf = (name: string, until: number | undefined, lifetimeMs: number): End[] =>
      // Zero: there is none yet, and the metrics and the log say so.
      until === undefined || until === 0 ? [] : [{ name, from: new Date(until - lifetimeMs), until: new Date(until), remedy }];
    const endOfCrl = (name: string, lifetimeSeconds: number): End[] =>
      endOf(`CRL of ${name}`, this.#crls.ends().get(name), lifetimeSeconds * 1000);
    return [
      ...Object.entries(certificateAuthorities).flatMap(([authority, { crl, ocsp: responder }]) => [
        ...endOfCrl(authority, crl.lifetimeSeconds),
        ...endOf(`OCSP responder of ${authority}`, this.#ocspResponders.ends().get(authority), responder.certificateHours * hourMs),
      ]),
      ...(clientAuthority === undefined ? [] : endOfCrl(clientAuthority.name, clientAuthority.crl.lifetimeSeconds)),
    ];
  }

  /** Makes the public listener; undefined where the configuration has none. */
  server({ listeners }: Config): Server | undefined {
    if (listeners.public === undefined) return undefined;
    const closed = publicListenerMetrics(this.#registry);
    return createPublicServer(listeners.public, this.#handlers, {
      closed: (crowd) => {
        closed(crowd === 'address' ? 'connectionsMaxPerAddress' : 'connectionsMax');
      },
    });
  }

  async stop(): Promise<void> {
    await this.#crls.stop();
    await this.#ocspResponders.stop();
  }
}

/** Returns the authorities whose CRLs are published, and how. */
function published({ certificateAuthorities, clientAuthority }: Config, opened: OpenedAuthorities): Parameters<CrlPublishers['use']> {
  const { authorities, ofClients } = opened;
  const ofClient = clientAuthority === undefined ? {} : { [clientAuthority.name]: { retired: false, crl: clientAuthority.crl } };
  return [new Map([...authorities, ...ofClients]), { ...certificateAuthorities, ...ofClient }];
}

/** How much of the token strangers may use for OCSP answers. */
function ocspLimits({ listeners }: Pick<Config, 'listeners'>): SigningLimitSettings {
  return { signaturesPerSecond: listeners.public?.ocspSignaturesPerSecond ?? 1, atOnceMax, waitingMax };
}

/** How much of the token strangers may use for time-stamps. */
function timeStampLimits({ listeners }: Pick<Config, 'listeners'>): SigningLimitSettings {
  return { signaturesPerSecond: listeners.public?.timeStampsPerSecond ?? 1, atOnceMax, waitingMax };
}
