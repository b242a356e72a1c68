import { Gauge, type Registry } from 'prom-client';
import { secondsUntil } from './metrics.ts';

interface ClientEnd {
  readonly client: string;
  /** SHA-256, hexadecimal. */
  readonly spkiSha256: string;
  readonly until: Date;
}

/**
 * Expiry of the certificates of registered clients. Two keys of one client, as during a renewal,
 * differ in `public_key`.
 */
export function clientMetrics(registry: Registry, ends: () => readonly ClientEnd[]): void {
  void new Gauge({
    name: 'signetd_client_certificate_expiry_seconds',
    help: 'Seconds until the newest known certificate of a registered client expires; negative afterwards.',
    labelNames: ['client', 'public_key'] as const,
    registers: [registry],
    collect() {
      this.reset();
      for (const { client, spkiSha256, until } of ends()) {
        this.set({ client, public_key: spkiSha256.slice(0, 16) }, secondsUntil(until.getTime()));
      }
    },
  });
}

interface ConfiguredEnd {
  /** Member of the configuration. */
  readonly member: string;
  readonly file: string;
  readonly until: Date;
}

/** Expiry of the certificates in the files of the configuration, except that of the API. */
export function configuredCertificateMetrics(registry: Registry, ends: () => readonly ConfiguredEnd[]): void {
  void new Gauge({
    name: 'signetd_configured_certificate_expiry_seconds',
    help: 'Seconds until the first certificate in a configured file expires; negative afterwards.',
    labelNames: ['member', 'file'] as const,
    registers: [registry],
    collect() {
      this.reset();
      // The first to end is set last.
      for (const { member, file, until } of ends().toSorted((one, other) => other.until.getTime() - one.until.getTime())) {
        this.set({ member, file }, secondsUntil(until.getTime()));
      }
    },
  });
}
