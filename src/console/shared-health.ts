import type { Health } from '../http/health-listener.ts';

const keptMs = 15_000;

/**
 * The state of the service for all pages that are open. Readiness costs a signature, which the audit
 * log records: it is looked at again after a while, or once `sign` changes.
 * @param sign a cheap sign of the service's state
 */
export function sharedHealth(health: Health, sign: () => string): Health {
  let current: { readonly ready: ReturnType<Health['ready']>; readonly at: number; readonly sign: string } | undefined;
  return {
    ready: async () => {
      const now = performance.now();
      if (current === undefined || now - current.at > keptMs || current.sign !== sign()) {
        current = { ready: health.ready(), at: now, sign: sign() };
      }
      return current.ready;
    },
    warnings: () => health.warnings(),
  };
}
