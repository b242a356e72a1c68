import { Counter, Gauge, type Registry } from 'prom-client';

export interface TransferMetrics {
  /** Bytes of a file that came in whole, or that went out. */
  moved(direction: 'in' | 'out', bytes: number): void;
  /** Files were removed since they expired, were deleted, or never became whole. */
  removed(files: number): void;
}

/** What each tenant has in the transfer store. */
type Shares = () => Promise<readonly { readonly tenant: string; readonly bytes: number; readonly files: number }[]>;

export function transferMetrics(registry: Registry, shares: Shares): TransferMetrics {
  const registers = [registry];
  const moved = new Counter({
    name: 'signetd_transfer_bytes_total',
    help: 'Bytes of the file transfer store that came in as whole files, or went out.',
    labelNames: ['direction'] as const,
    registers,
  });
  const removed = new Counter({
    name: 'signetd_transfer_swept_files_total',
    help: 'Files of the file transfer store that sweeps removed: expired, or never whole.',
    registers,
  });
  void new Gauge({
    name: 'signetd_transfer_files',
    help: 'Files in the file transfer store by tenant, those on their way included.',
    labelNames: ['tenant'] as const,
    registers,
    async collect() {
      for (const { tenant, files } of await shares().catch(() => [])) this.set({ tenant }, files);
    },
  });
  void new Gauge({
    name: 'signetd_transfer_stored_bytes',
    help: 'Bytes in the file transfer store by tenant, those reserved for files on their way included.',
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
