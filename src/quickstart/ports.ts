import { listenFault } from '../service/listen-fault.ts';

export const loopback = '127.0.0.1';

/**
 * First ports to try. SIGNETD_QUICKSTART_PORT sets others, for environments that are stopped and
 * started beside others, as in the tests.
 */
export const firstPorts = portsFrom(process.env['SIGNETD_QUICKSTART_PORT']);

function portsFrom(text: string | undefined): Readonly<Record<'api' | 'operations' | 'public' | 'smtp' | 'sms', number>> {
  if (text === undefined) return { api: 8443, operations: 9443, public: 8080, smtp: 2525, sms: 9080 };
  const first = Number(text);
  if (!Number.isInteger(first) || first < 1 || first > 64_000) throw new Error('SIGNETD_QUICKSTART_PORT must be a port from 1 to 64000');
  return { api: first, operations: first + 2, public: first + 4, smtp: first + 6, sms: first + 8 };
}

/** Whether a port of the loopback address is free. */
export async function isFree(port: number): Promise<boolean> {
  return (await listenFault(loopback, port)) === undefined;
}

/** Returns the wanted port or the next higher one that is free and not already taken. */
export async function freePort(wanted: number, taken: readonly number[] = []): Promise<number> {
  for (let port = wanted; port < wanted + 1000; port += 1) {
    if (!taken.includes(port) && (await isFree(port))) return port;
  }
  throw new Error(`no free port from ${wanted} on`);
}
