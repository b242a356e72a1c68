import { setTimeout as delay } from 'node:timers/promises';
import type { Draining } from '../service/draining.ts';
import type { ServiceManager } from '../service/service-manager.ts';
import type { Watchdog } from '../service/watchdog.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Parts } from './parts.ts';

/** How long the last checkpoint, the token host and the database may take to close. */
const closingSeconds = 10;

interface Stopping {
  readonly log: Logger;
  readonly manager: ServiceManager;
  readonly watchdog: Watchdog;
  readonly draining: Draining;
  readonly drainSeconds: () => number;
  /** Accepts no further command; resolves when those that run have ended. */
  readonly endAdministration: () => Promise<void>;
  readonly parts: Parts;
}

/**
 * Stops the service, once: requests that have come are answered, then every part is closed.
 * @param exitCode of the process if all could be closed
 */
async function stopService(stopping: Stopping, exitCode: number): Promise<void> {
  const { log, manager, watchdog, draining } = stopping;
  if (draining.begun) return;
  log.info('stopping', { unanswered: draining.unanswered });
  const drainSeconds = stopping.drainSeconds();
  watchdog.stop();
  manager.stopping('answering the requests that have come', drainSeconds + closingSeconds);
  const administrationEnded = stopping.endAdministration();
  const cutOff = await draining.end(drainSeconds);
  if (cutOff > 0) log.error('requests were cut off', { requests: cutOff });
  await administrationEnded;
  const areClosed = await stopping.parts.close(log);
  log.info('stopped');
  process.exit(areClosed ? exitCode : 1);
}

/**
 * Stops the service at SIGTERM and SIGINT. Before anybody can connect: from then on a stop has
 * something to lose. Returns what stops it.
 */
export function stopAtSignals(stopping: Stopping): (exitCode: number) => void {
  const stop = (exitCode: number): void => void stopService(stopping, exitCode);
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      stop(0);
    });
  }
  return stop;
}

/** Closes what a failed start opened, in limited time. */
export async function closeFailedStart(parts: Parts, log: Logger): Promise<void> {
  // The timer keeps the process alive, so that the reason is printed even if a part never closes.
  await Promise.race([parts.close(log), delay(1000 * closingSeconds)]);
}
