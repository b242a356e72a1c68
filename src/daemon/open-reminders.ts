import type { ClientRegistry } from '../clients/registry.ts';
import type { Config } from '../config/config.ts';
import type { Reloader } from '../config/reloader.ts';
import type { ReloadableTls } from '../http/tls/reload.ts';
import { clientMetrics, configuredCertificateMetrics } from '../telemetry/expiry-metrics.ts';
import type { LeveledLog } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { ClientLists } from './client-lists.ts';
import type { PublishedServices } from './published-services.ts';
import { Reminders } from './reminders.ts';

interface Surroundings {
  readonly reloader: Reloader;
  readonly metrics: Metrics;
  readonly log: LeveledLog;
}

/** Reminds of what ends, and shows the ends of client certificates as metrics. */
export function openReminders(
  { reloader, metrics, log }: Surroundings,
  {
    clients,
    published,
    clientLists,
  }: { readonly clients: ClientRegistry; readonly published: PublishedServices; readonly clientLists: Pick<ClientLists, 'warnings'> },
  tls: Pick<ReloadableTls, 'faults' | 'warnings'>,
): Reminders {
  const config = (): Config => reloader.config;
  const others = (): Record<string, string> => ({ ...tls.warnings(), ...clientLists.warnings(), ...tls.faults() });
  const made = new Reminders({ config, clients: () => clients.certificates, renewed: () => published.ends(config()), others, log });
  clientMetrics(metrics.registry, () => clients.certificates);
  configuredCertificateMetrics(metrics.registry, () => made.configured);
  return made;
}
