import { setTimeout as delay } from 'node:timers/promises';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { durationBuckets } from './metrics.ts';

/** State of the audit log, read at each scrape. */
export interface AuditGauges {
  readonly writable: boolean;
  readonly lagSeconds: number;
  /** Milliseconds since the epoch. */
  readonly lastCheckpointAt: number | undefined;
  readonly recordsSinceCheckpoint: number;
  /** Time of the newest record, in milliseconds since the epoch. */
  readonly newestRecordAt: number | undefined;
}

export function auditMetrics(registry: Registry, status: () => AuditGauges): void {
  const gauge = (name: string, help: string, value: (now: AuditGauges) => number): void => {
    const made = new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        made.set(value(status()));
      },
    });
  };
  gauge('signetd_audit_writable', '1 while the audit log accepts records, else 0.', ({ writable }) => (writable ? 1 : 0));
  gauge('signetd_audit_lag_seconds', 'Age of the oldest record not yet written to disk.', ({ lagSeconds }) => lagSeconds);
  gauge('signetd_audit_records_since_checkpoint', 'Records not yet covered by a checkpoint.', (now) => now.recordsSinceCheckpoint);
  gauge('signetd_audit_checkpoint_age_seconds', 'Seconds since the last checkpoint; NaN before the first.', ({ lastCheckpointAt }) =>
    lastCheckpointAt === undefined ? Number.NaN : (Date.now() - lastCheckpointAt) / 1000,
  );
  clockMetrics(registry, () => status().newestRecordAt);
}

/** Compares the clock with the newest audit record, which it should never be behind. */
export function clockMetrics(registry: Registry, newestRecordAt: () => number | undefined): void {
  const gauge = new Gauge({
    name: 'signetd_clock_behind_seconds',
    help: 'Seconds that the clock is behind the newest audit record, 0 if it is not: it was set back.',
    registers: [registry],
    collect() {
      gauge.set(clockBehindMs(newestRecordAt()) / 1000);
    },
  });
}

/** Returns how far the clock is behind a time in milliseconds since the epoch; 0 if it is not. */
export function clockBehindMs(newestRecordAt: number | undefined): number {
  return Math.max(0, (newestRecordAt ?? 0) - Date.now());
}

/** A file system that does not answer must not hold up a scrape. */
const fileSystemMs = 1000;

/**
 * Space of the file systems that the service writes to.
 * @param spaces asked at each scrape, by the use of the directory
 */
export function fileSystemMetrics(
  registry: Registry,
  spaces: ReadonlyMap<string, () => Promise<{ readonly availableBytes: number; readonly sizeBytes: number }>>,
): void {
  const made = (name: string, help: string, value: 'availableBytes' | 'sizeBytes'): void => {
    const gauge = new Gauge({
      name,
      help,
      labelNames: ['use'] as const,
      registers: [registry],
      async collect() {
        await Promise.all(
          Array.from(spaces, async ([use, space]) => {
            const found = await Promise.race([space().catch(() => undefined), delay(fileSystemMs, undefined, { ref: false })]);
            if (found === undefined) gauge.remove({ use });
            else gauge.set({ use }, found[value]);
          }),
        );
      },
    });
  };
  made(
    'signetd_filesystem_avail_bytes',
    'Bytes left to the service on the file system of a directory: audit (the audit log), state (SQLite), scratch, transfer.',
    'availableBytes',
  );
  made('signetd_filesystem_size_bytes', 'Size of that file system in bytes.', 'sizeBytes');
}

/** State of the copies to a syslog server. */
export function syslogMetrics(
  registry: Registry,
  status: () =>
    | {
        readonly isConnected: boolean;
        readonly waitingRecords: number;
        readonly handOver?: { readonly isHeldUp: boolean; readonly lagSeconds: number } | undefined;
      }
    | undefined,
): void {
  const connected = new Gauge({
    name: 'signetd_audit_syslog_connected',
    help: '1 while the syslog server for audit records is connected, else 0.',
    registers: [registry],
    collect: () => {
      connected.set(status()?.isConnected === true ? 1 : 0);
    },
  });
  const waiting = new Gauge({
    name: 'signetd_audit_syslog_waiting_records',
    help: 'Audit records that are not sent to the syslog server yet; none is dropped.',
    registers: [registry],
    collect: () => {
      waiting.set(status()?.waitingRecords ?? 0);
    },
  });
  const refusing = new Gauge({
    name: 'signetd_audit_syslog_refusing',
    help: '1 while requests are refused because audit records cannot be handed over to the syslog server (audit.syslog.required), else 0.',
    registers: [registry],
    collect: () => {
      refusing.set(status()?.handOver?.isHeldUp === true ? 1 : 0);
    },
  });
  const lag = new Gauge({
    name: 'signetd_audit_syslog_lag_seconds',
    help: 'Age of the oldest audit record that the syslog server has not been seen to receive; 0 unless audit.syslog.required.',
    registers: [registry],
    collect: () => {
      lag.set(status()?.handOver?.lagSeconds ?? 0);
    },
  });
}

export interface TransferMetrics {
  /** Counts bytes of a complete upload, or of a download. */
  moved(direction: 'in' | 'out', bytes: number): void;
  /** Counts removed files: expired, deleted or incomplete. */
  removed(files: number): void;
}

/** Rows of the state store, one for each tenant. */
type ByTenant<T> = () => Promise<readonly (T & { readonly tenant: string })[]>;

/** Usage of the transfer store by each tenant. */
type Shares = ByTenant<{ readonly bytes: number; readonly files: number }>;

/** While the state store cannot be read, the gauge has no values. */
async function setByTenant<T>(gauge: Gauge<'tenant'>, rows: ByTenant<T>, value: (row: T) => number): Promise<void> {
  const found = await rows().catch(() => []);
  gauge.reset();
  for (const row of found) gauge.set({ tenant: row.tenant }, value(row));
}

export function transferMetrics(registry: Registry, shares: Shares): TransferMetrics {
  const registers = [registry];
  const moved = new Counter({
    name: 'signetd_transfer_bytes_total',
    help: 'Bytes of complete uploads to and of downloads from the file transfer store.',
    labelNames: ['direction'] as const,
    registers,
  });
  for (const direction of ['in', 'out']) moved.inc({ direction }, 0);
  const removed = new Counter({
    name: 'signetd_transfer_swept_files_total',
    help: 'Files removed from the file transfer store: expired, deleted or incomplete.',
    registers,
  });
  void new Gauge({
    name: 'signetd_transfer_files',
    help: 'Files in the file transfer store by tenant, including incomplete uploads.',
    labelNames: ['tenant'] as const,
    registers,
    async collect() {
      await setByTenant(this, shares, ({ files }) => files);
    },
  });
  void new Gauge({
    name: 'signetd_transfer_stored_bytes',
    help: 'Bytes in the file transfer store by tenant, including those reserved for uploads in progress.',
    labelNames: ['tenant'] as const,
    registers,
    async collect() {
      await setByTenant(this, shares, ({ bytes }) => bytes);
    },
  });
  return {
    moved(direction, bytes) {
      moved.inc({ direction }, bytes);
    },
    removed(count) {
      removed.inc(count);
    },
  };
}

/** Size of the responses kept for repeated requests, over all instances. */
export function keptAnswerMetrics(registry: Registry, bytes: () => number): void {
  const gauge = new Gauge({
    name: 'signetd_kept_answers_bytes',
    help: 'Bytes of the responses kept for requests with an Idempotency-Key, over all instances; updated once a minute.',
    registers: [registry],
    collect() {
      this.set(bytes());
    },
  });
  void gauge;
}

/** Open signature sessions of each tenant, over all instances. */
export function sessionMetrics(registry: Registry, shares: ByTenant<{ readonly sessions: number; readonly bytes: number }>): void {
  const gauge = (name: string, help: string, value: (row: { readonly sessions: number; readonly bytes: number }) => number): void => {
    const made = new Gauge({
      name,
      help,
      labelNames: ['tenant'] as const,
      registers: [registry],
      async collect() {
        await setByTenant(made, shares, value);
      },
    });
  };
  gauge('signetd_signature_sessions', 'Open signature sessions by tenant, over all instances.', ({ sessions }) => sessions);
  gauge(
    'signetd_signature_session_bytes',
    'Bytes of content in open signature sessions by tenant, over all instances.',
    ({ bytes }) => bytes,
  );
}

const transactionOutcomes = ['done', 'refused', 'unavailable'] as const;

/** Returns a function that records a transaction of the state store. */
export function stateMetrics(registry: Registry): (outcome: (typeof transactionOutcomes)[number], ms: number) => void {
  const registers = [registry];
  const transactions = new Counter({
    name: 'signetd_state_transactions_total',
    help: 'Transactions of the state store by outcome: done, refused (a rule of the service, or a full disk), unavailable (no answer).',
    labelNames: ['outcome'] as const,
    registers,
  });
  const duration = new Histogram({
    name: 'signetd_state_transaction_seconds',
    help: 'Time until a transaction of the state store is committed or fails, including its wait for the one before it.',
    buckets: durationBuckets,
    registers,
  });
  const counted = {
    done: transactions.labels('done'),
    refused: transactions.labels('refused'),
    unavailable: transactions.labels('unavailable'),
  };
  for (const outcome of transactionOutcomes) counted[outcome].inc(0);
  return (outcome, ms) => {
    counted[outcome].inc();
    duration.observe(ms / 1000);
  };
}
