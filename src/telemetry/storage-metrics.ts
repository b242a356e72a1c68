import { Gauge, type Registry, Counter } from 'prom-client';

/** State of the audit log, read at each scrape. */
export interface AuditGauges {
  readonly writable: boolean;
  readonly lagSeconds: number;
  /** Milliseconds since the epoch. */
  readonly lastCheckpointAt: number | undefined;
  readonly recordsSinceCheckpoint: number;
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
}

export interface TransferMetrics {
  /** Counts bytes of a complete upload, or of a download. */
  moved(direction: 'in' | 'out', bytes: number): void;
  /** Counts removed files: expired, deleted or incomplete. */
  removed(files: number): void;
}

/** Usage of the transfer store by each tenant. */
type Shares = () => Promise<readonly { readonly tenant: string; readonly bytes: number; readonly files: number }[]>;

export function transferMetrics(registry: Registry, shares: Shares): TransferMetrics {
  const registers = [registry];
  const moved = new Counter({
    name: 'signetd_transfer_bytes_total',
    help: 'Bytes of complete uploads to and of downloads from the file transfer store.',
    labelNames: ['direction'] as const,
    registers,
  });
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
      for (const { tenant, files } of await shares().catch(() => [])) this.set({ tenant }, files);
    },
  });
  void new Gauge({
    name: 'signetd_transfer_stored_bytes',
    help: 'Bytes in the file transfer store by tenant, including those reserved for uploads in progress.',
    labelNames: ['tenant'] as const,
    registers,
    async collect() {
      for (const { tenant, bytes } of await shares().catch(() => [])) this.set({ tenant }, bytes);
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
