import type { X509Certificate } from 'node:crypto';
import { Counter, Gauge, type Registry } from 'prom-client';
import { secondsUntil } from './metrics.ts';

const outcomes = ['newer', 'unchanged', 'failed'] as const;

/** What is known of the CRLs of client CAs, read at each scrape. */
export interface ClientListState {
  /** Each CA, and the CRL that counts. */
  readonly authorities: () => readonly {
    readonly authority: Pick<X509Certificate, 'subject'>;
    readonly list: { readonly thisUpdate: Date; readonly nextUpdate: Date; readonly revoked: { readonly size: number } } | undefined;
  }[];
  /** `goodAtMs`: the last fetch that succeeded, or the start; milliseconds since epoch. */
  readonly sources: () => readonly { readonly url: string; readonly goodAtMs: number }[];
}

/**
 * Metrics of the CRLs of client CAs, from files and from URLs. Returns a function that counts a
 * fetch.
 */
export function clientListMetrics(
  registry: Registry,
  { authorities, sources }: ClientListState,
): (outcome: (typeof outcomes)[number]) => void {
  const registers = [registry];
  const nameOf = ({ subject }: Pick<X509Certificate, 'subject'>): string => subject.replaceAll('\n', ', ');
  void new Gauge({
    name: 'signetd_client_ca_crl_expiry_seconds',
    help: 'Seconds until the CRL of a client CA expires, after which its clients are refused; negative afterwards, and if there is none. No value if revocation is not checked.',
    labelNames: ['authority'] as const,
    registers,
    collect() {
      this.reset();
      for (const { authority, list } of authorities())
        this.set({ authority: nameOf(authority) }, secondsUntil(list?.nextUpdate.getTime() ?? 0));
    },
  });
  void new Gauge({
    name: 'signetd_client_ca_crl_age_seconds',
    help: 'Seconds since thisUpdate of the CRL of a client CA; no value if there is none.',
    labelNames: ['authority'] as const,
    registers,
    collect() {
      this.reset();
      for (const { authority, list } of authorities())
        if (list !== undefined) this.set({ authority: nameOf(authority) }, -secondsUntil(list.thisUpdate.getTime()));
    },
  });
  void new Gauge({
    name: 'signetd_client_ca_crl_entries',
    help: 'Revoked certificates in the CRL of a client CA; no value if there is none.',
    labelNames: ['authority'] as const,
    registers,
    collect() {
      this.reset();
      for (const { authority, list } of authorities())
        if (list !== undefined) this.set({ authority: nameOf(authority) }, list.revoked.size);
    },
  });
  void new Gauge({
    name: 'signetd_client_crl_fetch_age_seconds',
    help: 'Seconds since a URL of listeners.api.clientRevocationUrls last gave a CRL that can be used, or since the start.',
    labelNames: ['url'] as const,
    registers,
    collect() {
      this.reset();
      for (const { url, goodAtMs } of sources()) this.set({ url }, -secondsUntil(goodAtMs));
    },
  });
  const fetches = new Counter({
    name: 'signetd_client_crl_fetches_total',
    help: 'Fetches of CRLs of client CAs, by outcome: newer, unchanged, failed.',
    labelNames: ['outcome'] as const,
    registers,
  });
  for (const outcome of outcomes) fetches.inc({ outcome }, 0);
  return (outcome) => {
    fetches.inc({ outcome });
  };
}
