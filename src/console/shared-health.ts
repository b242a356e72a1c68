import type { Health } from '../http/health-listener.ts';

const keptMs = 15_000;

/**
 * The state of the service for all pages that are open. Readiness costs a signature, which the audit
 * log records: it is looked at again after a while, or once `mark` changes.
 * @param mark identifies the state of the service, as far as that costs nothing
 */
export function sharedHealth(health: Health, mark: () => string): Health {
  let current: { readonly ready: ReturnType<Health['ready']>; readonly at: number; readonly mark: string } | undefined;
  return {
    ready: async () => {
      const now = performance.now();
      if (current === undefined || now - current.at > keptMs || current.mark !== mark()) {
        current = { ready: health.ready(), at: now, mark: mark() };
      }
      return current.ready;
    },
    warnings: () => health.warnings(),
  };
}
