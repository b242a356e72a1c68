import type { StateStore } from '../../state/state-store.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { CertificateIssuer } from '../issue.ts';
import { CrlPublisher, type CrlSettings, type PublishedCrl } from './crl-publisher.ts';

/** Configuration of each authority, by name. */
type CrlConfig = Readonly<
  Record<string, { readonly retired: boolean; readonly crl: CrlSettings & { readonly enabled: boolean; readonly cacheSeconds: number } }>
>;
type Authorities = ReadonlyMap<string, CertificateIssuer>;

/** Public data of an authority. */
export interface PublishedAuthority {
  readonly certificate: Uint8Array;
  /** Start of the certificate's validity. */
  readonly notBefore: Date;
  /** Absent until the first one is issued, or if CRLs are published elsewhere. */
  readonly crl: PublishedCrl | undefined;
  /** Returns the CRL once it contains every revocation committed here. */
  latestCrl(): Promise<PublishedCrl | undefined>;
  readonly cacheSeconds: number;
}

/** The CRLs of all authorities. */
export class CrlPublishers {
  readonly #store: StateStore;
  readonly #log: Logger;
  readonly #publishers = new Map<string, CrlPublisher>();
  #authorities: Authorities = new Map();
  #config: CrlConfig = {};

  constructor(store: StateStore, log: Logger) {
    this.#store = store;
    this.#log = log;
  }

  /**
   * Replaces the configuration. Resolves once each authority has a CRL or has failed to issue one
   * (which is retried each second).
   */
  async use(authorities: Authorities, config: CrlConfig): Promise<void> {
    this.#authorities = authorities;
    this.#config = config;
    for (const [name, publisher] of this.#publishers) {
      if (config[name]?.crl.enabled === true && authorities.has(name)) continue;
      this.#publishers.delete(name);
      void publisher.stop();
    }
    const started: Promise<void>[] = [];
    for (const [name, issuer] of authorities) {
      const configured = config[name];
      if (configured?.crl.enabled !== true) continue;
      const settings = { ...configured.crl, isFinal: configured.retired };
      const known = this.#publishers.get(name);
      if (known !== undefined) {
        known.use(issuer, settings);
        continue;
      }
      const publisher = new CrlPublisher(this.#store, name, issuer, { settings, log: this.#log });
      this.#publishers.set(name, publisher);
      started.push(publisher.start());
    }
    await Promise.all(started);
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#publishers.values()].map(async (publisher) => publisher.stop()));
  }

  /** Whether the authority has issued its last CRL. */
  hasRetired(authority: string): boolean {
    return this.#config[authority]?.retired === true;
  }

  /** Notifies of a committed revocation by the authority. */
  changed(authority: string): void {
    this.#publishers.get(authority)?.changed();
  }

  /** Notifies of committed revocations by some of the authorities. */
  someChanged(): void {
    for (const publisher of this.#publishers.values()) publisher.changed();
  }

  /** Returns a CRL of the authority made at `time` or later; undefined if none can be issued. */
  async madeSince(authority: string, time: Date): Promise<PublishedCrl | undefined> {
    return this.#publishers.get(authority)?.madeSince(time);
  }

  find(name: string): PublishedAuthority | undefined {
    const issuer = this.#authorities.get(name);
    if (issuer === undefined) return undefined;
    const publisher = this.#publishers.get(name);
    return {
      certificate: issuer.certificate.der,
      notBefore: issuer.certificate.notBefore,
      crl: publisher?.published,
      latestCrl: async () => publisher?.latest(),
      cacheSeconds: this.#config[name]?.crl.cacheSeconds ?? 0,
    };
  }

  /**
   * Returns nextUpdate of each authority's CRL in milliseconds since epoch; 0 if none has been
   * issued yet.
   */
  ends(): ReadonlyMap<string, number> {
    return new Map([...this.#publishers].map(([name, { published }]) => [name, published?.nextUpdate.getTime() ?? 0]));
  }
}
