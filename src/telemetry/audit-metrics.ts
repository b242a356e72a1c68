import { Gauge, type Registry } from 'prom-client';

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
