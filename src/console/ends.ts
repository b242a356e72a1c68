import type { Registry } from 'prom-client';
import { metricValues } from '../telemetry/metric-values.ts';
import type { End } from './page/answers.ts';

/** The metrics that tell in how many seconds something ends. */
const expiries = [
  ['signetd_api_certificate_expiry_seconds', 'API certificate'],
  ['signetd_client_crl_expiry_seconds', 'client CRL'],
  ['signetd_authority_certificate_expiry_seconds', 'CA certificate'],
  ['signetd_crl_expiry_seconds', 'CRL'],
  ['signetd_ocsp_responder_certificate_expiry_seconds', 'OCSP responder'],
  ['signetd_time_stamp_authority_certificate_expiry_seconds', 'time-stamp authority'],
] as const;

/** Returns when certificates and CRLs end, the first to end first. */
export async function endsOf(registry: Registry, nowMs: number): Promise<End[]> {
  const found = await Promise.all(
    expiries.map(async ([metric, what]) =>
      (await metricValues(registry, metric))
        .filter(({ value }) => Number.isFinite(value))
        .map(({ labels, value }) => ({ what, name: String(labels['authority'] ?? ''), at: new Date(nowMs + value * 1000).toISOString() })),
    ),
  );
  return found.flat().toSorted((a, b) => a.at.localeCompare(b.at));
}
