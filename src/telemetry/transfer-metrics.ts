import { Counter, Gauge, type Registry } from 'prom-client';

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
