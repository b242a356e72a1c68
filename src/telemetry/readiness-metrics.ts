import { Gauge, type Registry } from 'prom-client';

/**
 * What `/health/ready` says, in every state of the daemon: an alert on it also notices a service that
 * has opened none of its parts.
 * @param faults by part, why the service is not ready; asked once at each scrape
 */
export function readinessMetrics(registry: Registry, faults: () => Promise<Readonly<Record<string, string>>>): void {
  let asked: Promise<readonly string[]> | undefined;
  const parts = async (): Promise<readonly string[]> => {
    asked ??= faults()
      .then(Object.keys)
      .finally(() => {
        asked = undefined;
      });
    return asked;
  };
  const ready = new Gauge({
    name: 'signetd_ready',
    help: '1 if the service is ready, as /health/ready says it, else 0.',
    registers: [registry],
    async collect() {
      ready.set((await parts()).length === 0 ? 1 : 0);
    },
  });
  const notReady = new Gauge({
    name: 'signetd_not_ready',
    help: '1 for each part that keeps the service from being ready; no values while it is ready.',
    labelNames: ['part'] as const,
    registers: [registry],
    async collect() {
      const now = await parts();
      notReady.reset();
      for (const part of now) notReady.set({ part }, 1);
    },
  });
}
