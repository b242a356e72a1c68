import type { Draining } from '../service/draining.ts';
import type { ServiceManager } from '../service/service-manager.ts';
import type { Watchdog } from '../service/watchdog.ts';
import type { Logger } from '../telemetry/log.ts';

/** What the last checkpoint, the token host and the database may take after the last answer. */
const closingSeconds = 10;

export interface Stopping {
  readonly log: Logger;
  readonly manager: ServiceManager;
  readonly watchdog: Watchdog;
  readonly draining: Draining;
  readonly drainSeconds: () => number;
  /** Takes no further command; resolves when those that run have ended. */
  readonly endAdministration: () => Promise<void>;
  /** What is closed once nothing runs any more, in this order. */
  readonly closings: readonly (() => Promise<void> | void)[];
}

/** Ends the service, once: what has come is answered, and then every part is closed. */
export async function stopService(stopping: Stopping): Promise<void> {
  const { log, manager, watchdog, draining } = stopping;
  if (draining.begun) return;
  log.info('stopping', { unanswered: draining.unanswered });
  const drainSeconds = stopping.drainSeconds();
  watchdog.stop();
  manager.stopping('answering what has come', drainSeconds + closingSeconds);
  const administrationEnded = stopping.endAdministration();
  const cutOff = await draining.end(drainSeconds);
  if (cutOff > 0) log.error('requests were cut off', { requests: cutOff });
  await administrationEnded;
  for (const close of stopping.closings) await close();
  log.info('stopped');
  process.exit(0);
}
