import { setTimeout as delay } from 'node:timers/promises';
import type { Config } from '../config/config.ts';
import { Draining } from '../service/draining.ts';
import type { FailedStarts } from '../service/failed-starts.ts';
import type { ServiceManager } from '../service/service-manager.ts';
import type { Logger } from '../telemetry/log.ts';
import { Metrics } from '../telemetry/metrics.ts';
import { reasonOf } from '../telemetry/reason-of.ts';
import { Parts } from './parts.ts';
import { standByAfterFailure } from './stand-by.ts';

interface Waiting {
  readonly config: Config;
  readonly log: Logger;
  readonly manager: ServiceManager;
  /** Those that the service manager passed; undefined if the process cannot listen. */
  readonly sockets: ReadonlyMap<string, number> | undefined;
}

/**
 * Waits after a failed start, longer after each, so that the service manager's next attempt does not
 * come at once. A signal ends the process at once. Returns when the process should end as failed.
 */
export async function waitAfterFailure(
  reason: string,
  failedStarts: FailedStarts,
  { config, log, manager, sockets }: Waiting,
): Promise<void> {
  const seconds = failedStarts.add(reason);
  if (seconds === 0) return;
  log.error('the service cannot start', { reason, nextAttemptSeconds: seconds });
  // Whoever stops it wants the next start to tell at once how it went.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      failedStarts.forget();
    });
  }
  const waited = delay(1000 * seconds);
  const parts = new Parts();
  try {
    if (sockets === undefined) throw new Error('it has no sockets');
    await standByAfterFailure({ config, log, manager, sockets, parts, draining: new Draining(), metrics: new Metrics() }, reason, seconds);
  } catch (error) {
    // Callers wait in the queues of the sockets.
    log.warn('callers cannot be told that the service cannot start', { reason: reasonOf(error) });
    await parts.close(log);
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => process.exit(0));
  await waited;
}
