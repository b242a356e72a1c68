import type { Server } from 'node:http';
import type { Registry } from 'prom-client';
import type { Audit } from '../audit/audit.ts';
import { CrlPublishers } from '../certificates/crl/crl-publishers.ts';
import type { CertificateIssuer } from '../certificates/issue.ts';
import { OcspResponders } from '../certificates/ocsp/ocsp-responders.ts';
import type { ResponderTools } from '../certificates/ocsp/responder-keys.ts';
import { SigningLimit, type SigningLimitSettings } from '../certificates/ocsp/signing-limit.ts';
import { Revocations } from '../certificates/revocations.ts';
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

interface Tools {
  readonly store: StateStore;
  readonly token: Token;
  readonly undoing: ResponderTools['undoing'];
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
  readonly #asked: ReturnType<typeof outgoingMetrics>;
  readonly #handlers: readonly PublicHandler[];
  readonly #registry: Registry;

  private constructor(
    { store, registry, log }: Tools,
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
    this.#asked = outgoingMetrics(registry, log);
    crlMetrics(registry, () => crls.ends());
    this.revocations = new Revocations(store, {
      changed: (authority, serialNumber) => {
        crls.changed(authority);
        ocspResponders.changed(authority, serialNumber);
      },
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
  static async open(tools: Tools, config: Config, authorities: Authorities): Promise<PublishedServices> {
    const { store, token, undoing, audit, registry, log } = tools;
    const crls = new CrlPublishers(store, log);
    const stamped = timeStampMetrics(registry, () => timeStampAuthority.certificateEndsMs);
    const timeStampAuthority = await OwnTimeStampAuthority.open(token, config, { answered: stamped, log });
    await crls.use(authorities, config.certificateAuthorities);
    const ocspResponders = new OcspResponders({ store, token, undoing, audit, log }, ocspLimits(config));
    await ocspResponders.use(authorities, config.certificateAuthorities, timeStampAuthority.certificates);
    return new PublishedServices(tools, config, { crls, ocspResponders, timeStampAuthority, stamped });
  }

  /** Uses these from now on. */
  use(authorities: Authorities, { certificateAuthorities }: Config): void {
    void this.#crls.use(authorities, certificateAuthorities);
    void this.#ocspResponders.use(authorities, certificateAuthorities, this.timeStampAuthority.certificates);
  }

  /**
   * Makes what signatures above baseline B need under a configuration.
   * @throws {ConfigError} for files that cannot be used
   */
  levels(config: Config, authorities: Authorities, threads: WorkThreads): LevelServices {
    return levelServices(config, {
      ...{ authorities, threads, crls: this.#crls, ocspResponders: this.#ocspResponders, asked: this.#asked },
      timeStampAuthority: () => this.timeStampAuthority.authority,
    });
  }

  /**
   * Returns the ends of CRLs and of OCSP responders' certificates, which are renewed long before
   * them.
   */
  ends({ certificateAuthorities }: Pick<Config, 'certificateAuthorities'>): End[] {
    const remedy = 'the log says why it is not renewed';
    const endOf = (name: string, until: number | undefined, lifetimeMs: number): End[] =>
      // Zero: there is none yet, and the metrics and the log say so.
      until === undefined || until === 0 ? [] : [{ name, from: new Date(until - lifetimeMs), until: new Date(until), remedy }];
    return Object.entries(certificateAuthorities).flatMap(([authority, { crl, ocsp: responder }]) => [
      ...endOf(`CRL of ${authority}`, this.#crls.ends().get(authority), crl.lifetimeSeconds * 1000),
      ...endOf(`OCSP responder of ${authority}`, this.#ocspResponders.ends().get(authority), responder.certificateHours * hourMs),
    ]);
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

/** How much of the token strangers may use for OCSP answers. */
function ocspLimits({ listeners }: Pick<Config, 'listeners'>): SigningLimitSettings {
  return { signaturesPerSecond: listeners.public?.ocspSignaturesPerSecond ?? 1, atOnceMax, waitingMax };
}

/** How much of the token strangers may use for time-stamps. */
function timeStampLimits({ listeners }: Pick<Config, 'listeners'>): SigningLimitSettings {
  return { signaturesPerSecond: listeners.public?.timeStampsPerSecond ?? 1, atOnceMax, waitingMax };
}
