import type { StateStore } from '../../state/state-store.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { CertificateIssuer } from '../issue.ts';
import { CrlPublisher, type CrlSettings, type PublishedCrl } from './crl-publisher.ts';

/** The configuration of each authority. */
export type CrlConfig = Readonly<
  Record<string, { readonly crl: CrlSettings & { readonly enabled: boolean; readonly cacheSeconds: number } }>
>;

/** What anybody may have of an authority. */
export interface PublishedAuthority {
  readonly certificate: Uint8Array;
  /** Of the certificate. */
  readonly notBefore: Date;
  /** Absent until the first one is issued, and where others publish them. */
  readonly crl: PublishedCrl | undefined;
  readonly cacheSeconds: number;
}

/** The CRLs of all authorities. */
export class CrlPublishers {
  readonly #config: CrlConfig;
  readonly #authorities: ReadonlyMap<string, CertificateIssuer>;
  readonly #publishers: ReadonlyMap<string, CrlPublisher>;

  constructor(store: StateStore, authorities: ReadonlyMap<string, CertificateIssuer>, config: CrlConfig, log: Logger) {
    this.#config = config;
    this.#authorities = authorities;
    this.#publishers = new Map(
      [...authorities].flatMap(([name, issuer]) => {
        const settings = config[name]?.crl;
        return settings?.enabled === true ? [[name, new CrlPublisher(store, name, issuer, { settings, log })]] : [];
      }),
    );
  }

  async start(): Promise<void> {
    await Promise.all([...this.#publishers.values()].map(async (publisher) => publisher.start()));
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#publishers.values()].map(async (publisher) => publisher.stop()));
  }

  /** A revocation of the authority was committed. */
  changed(authority: string): void {
    this.#publishers.get(authority)?.changed();
  }

  find(name: string): PublishedAuthority | undefined {
    const issuer = this.#authorities.get(name);
    if (issuer === undefined) return undefined;
    return {
      certificate: issuer.certificate.der,
      notBefore: issuer.certificate.notBefore,
      crl: this.#publishers.get(name)?.published,
      cacheSeconds: this.#config[name]?.crl.cacheSeconds ?? 0,
    };
  }
}
