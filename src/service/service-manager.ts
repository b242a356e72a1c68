import { reasonOf } from '../telemetry/reason-of.ts';
import { native } from './native.ts';

type Environment = Record<string, string | undefined>;

/** Messages to systemd (sd_notify(3)). Without a service manager, every message is dropped. */
export interface ServiceManager {
  /** Reports that the start or a reload is complete. `status`: shown by `systemctl status`. */
  ready(status: string): void;
  /** Reports that a reload begins; `ready` ends it. */
  reloading(status: string): void;
  /** Reports that the service is shutting down and needs up to this many seconds. */
  stopping(status: string, withinSeconds: number): void;
  status(text: string): void;
  /** Reports that the service is alive. */
  alive(): void;
  /** Maximum interval between calls of `alive`; undefined without a watchdog. */
  readonly watchdogMs: number | undefined;
}

/**
 * Returns the service manager of the environment, and removes NOTIFY_SOCKET, WATCHDOG_USEC and
 * WATCHDOG_PID from it, so that no child reports for this process. A message that cannot be sent is
 * reported to `failed` and otherwise ignored, since the service works without the manager too.
 */
export function serviceManager(environment: Environment, pid: number, failed: (reason: string) => void): ServiceManager {
  const socket = environment['NOTIFY_SOCKET'];
  const watchdogMs = socket === undefined ? undefined : watchdogInterval(environment, pid);
  for (const name of ['NOTIFY_SOCKET', 'WATCHDOG_USEC', 'WATCHDOG_PID']) Reflect.deleteProperty(environment, name);
  const send = (...lines: readonly string[]): void => {
    if (socket === undefined) return;
    try {
      native().send(socket, lines.join('\n'));
    } catch (error) {
      failed(reasonOf(error));
    }
  };
  return {
    watchdogMs,
    ready(status) {
      send('READY=1', statusLine(status));
    },
    reloading(status) {
      send('RELOADING=1', `MONOTONIC_USEC=${process.hrtime.bigint() / 1000n}`, statusLine(status));
    },
    stopping(status, withinSeconds) {
      send('STOPPING=1', `EXTEND_TIMEOUT_USEC=${Math.ceil(withinSeconds * 1_000_000)}`, statusLine(status));
    },
    status(text) {
      send(statusLine(text));
    },
    alive() {
      send('WATCHDOG=1');
    },
  };
}

/**
 * Returns the interval of the watchdog. sd_watchdog_enabled(3): it applies to the process in
 * WATCHDOG_PID, or to any if that is absent.
 */
function watchdogInterval(environment: Environment, pid: number): number | undefined {
  const microseconds = environment['WATCHDOG_USEC'];
  const forPid = environment['WATCHDOG_PID'];
  if (microseconds === undefined || !/^[1-9]\d{0,15}$/.test(microseconds)) return undefined;
  if (forPid !== undefined && forPid !== String(pid)) return undefined;
  return Number(microseconds) / 1000;
}

/** Returns the text on one line, since a newline would begin another message. */
function statusLine(text: string): string {
  return `STATUS=${text.replaceAll(/\s+/g, ' ').slice(0, 500)}`;
}
