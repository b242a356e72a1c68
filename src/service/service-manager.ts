import { native } from './native.ts';

type Environment = Record<string, string | undefined>;

/** systemd, as sd_notify(3) speaks with it. Without a service manager every message is dropped. */
export interface ServiceManager {
  /** The start, or a reload, has ended. `status` is what `systemctl status` shows. */
  ready(status: string): void;
  /** A reload begins; `ready` ends it. */
  reloading(status: string): void;
  /** The service ends within so many seconds: it is not killed before. */
  stopping(status: string, withinSeconds: number): void;
  status(text: string): void;
  /** The service is well. */
  alive(): void;
  /** How often `alive` is wanted at the latest; undefined if no watchdog waits for it. */
  readonly watchdogMs: number | undefined;
}

/**
 * Takes NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID out of the environment, so that no child
 * speaks for this process. A message that cannot be sent is told to `failed` and otherwise ignored:
 * the service does its work without the manager too.
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
      failed(error instanceof Error ? error.message : String(error));
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
 * sd_watchdog_enabled(3): the time-out counts for the process that WATCHDOG_PID names, or for any
 * if it is absent.
 */
function watchdogInterval(environment: Environment, pid: number): number | undefined {
  const microseconds = environment['WATCHDOG_USEC'];
  const forPid = environment['WATCHDOG_PID'];
  if (microseconds === undefined || !/^[1-9]\d{0,15}$/.test(microseconds)) return undefined;
  if (forPid !== undefined && forPid !== String(pid)) return undefined;
  return Number(microseconds) / 1000;
}

/** One line: a newline would begin another message. */
function statusLine(text: string): string {
  return `STATUS=${text.replaceAll(/\s+/g, ' ').slice(0, 500)}`;
}
