import { setTimeout as delay } from 'node:timers/promises';
import type { RunningAudit } from '../audit/open-audit.ts';
import type { LastReload } from '../config/reloader.ts';
import type { TransferStore } from '../documents/transfer/transfer-store.ts';
import type { Health } from '../http/health-listener.ts';
import type { ReloadableTls } from '../http/tls/reload.ts';
import type { Draining } from '../service/draining.ts';
import type { StateStore } from '../state/state-store.ts';
import type { TokenClient } from '../token/client/token-client.ts';
import { clockBehindMs } from '../telemetry/storage-metrics.ts';
import { keyTrial } from '../token/key-id.ts';
import type { ClientLists } from './client-lists.ts';
import type { PublishedServices } from './published-services.ts';
import type { ReloadedLimits } from './reloaded-limits.ts';
import type { Reminders } from './reminders.ts';
import type { ServicesInForce } from './services-in-force.ts';

const readinessMs = 2000;

/** What readiness looks at. */
interface Looked {
  readonly draining: Pick<Draining, 'begun'>;
  readonly token: Pick<TokenClient, 'hostFault'>;
  readonly store: Pick<StateStore, 'run'>;
  readonly audit: Pick<RunningAudit, 'status'>;
  /** The signature of one of its authorities shows that the token signs. */
  readonly services: Pick<ServicesInForce, 'signer'>;
  readonly apiTls: Pick<ReloadableTls, 'faults' | 'warnings'>;
  readonly clientLists: Pick<ClientLists, 'warnings'>;
  readonly transfers: Pick<TransferStore, 'warnings'> | undefined;
  readonly published: Pick<PublishedServices, 'timeStampAuthority'>;
  readonly reminders: Pick<Reminders, 'warnings'>;
  readonly limits: Pick<ReloadedLimits, 'warnings'>;
}

export function serviceHealth(looked: Looked): Health {
  return {
    ready: async () => readinessFaults(looked),
    warnings: () => ({
      ...looked.apiTls.warnings(),
      ...looked.clientLists.warnings(),
      ...looked.published.timeStampAuthority.warnings(),
      ...looked.reminders.warnings(),
      ...looked.transfers?.warnings(),
      ...syslogWarnings(looked.audit.status),
      ...clockWarnings(looked.audit.status),
      ...looked.limits.warnings(),
    }),
  };
}

/** Smaller differences are those of a clock that is being synchronised. */
const clockSlackMs = 5000;

function clockWarnings({ newestRecordAt }: RunningAudit['status']): Record<string, string> {
  const behindMs = clockBehindMs(newestRecordAt);
  if (behindMs <= clockSlackMs) return {};
  return { clock: `the clock was set back: it is ${Math.ceil(behindMs / 1000)} s behind the newest audit record` };
}

/**
 * Unless it is required, nothing that is served depends on the syslog server. No record is lost
 * while it is away.
 */
function syslogWarnings({ syslog }: RunningAudit['status']): Record<string, string> {
  if (syslog?.fault === undefined) return {};
  return { auditSyslog: `${syslog.waitingRecords} audit records wait for the syslog server: ${syslog.fault}` };
}

function syslogFaults({ syslog }: RunningAudit['status']): Record<string, string> {
  if (syslog?.handOver?.isHeldUp !== true) return {};
  return {
    auditSyslog: `requests are refused, since audit records cannot be handed over to the syslog server: ${syslog.fault ?? 'it does not acknowledge them'}`,
  };
}

/**
 * Returns by part why no request can be served now; empty if they can. Answers within two seconds,
 * whatever hangs.
 */
async function readinessFaults({ draining, token, store, audit, services, apiTls }: Looked): Promise<Record<string, string>> {
  const faults: Record<string, string> = draining.begun ? { service: 'it stops' } : {};
  await Promise.all([
    inTime(services.signer?.sign(keyTrial)).catch(() => {
      faults['token'] = token.hostFault ?? 'it does not sign';
    }),
    inTime(store.run('probe')).catch(() => {
      faults['state'] = 'it takes no writes';
    }),
  ]);
  if (!audit.status.writable) faults['audit'] = 'it takes no records';
  return { ...faults, ...syslogFaults(audit.status), ...apiTls.faults() };
}

/** Whoever asks whether the service is ready wants to know soon. */
async function inTime(work: Promise<unknown> | undefined): Promise<void> {
  const late = delay(readinessMs, undefined, { ref: false }).then(() => {
    throw new Error('no answer in time');
  });
  await Promise.race([work, late]);
}

/** Returns the status for the service manager. */
export function servingStatus(last: LastReload | undefined): string {
  const faults = last?.faults ?? [];
  return faults.length === 0 ? 'serving' : `serving; the last reload failed: ${faults.join('; ')}`;
}
