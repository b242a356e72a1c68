import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import type { Config } from '../../config/config.ts';
import { listenFault } from '../../service/listen-fault.ts';
import { fault, good, type Diagnosis } from './diagnosis.ts';

interface Address {
  readonly member: string;
  readonly host: string;
  readonly port: number;
}

/** A process that listens on a port. */
interface Holder {
  readonly pid: number;
  readonly name: string;
}

/** Process number of the service manager, which holds the sockets of its units for the service. */
const managerPid = 1;

/** Diagnoses, while the service is stopped, whether it could listen on its ports. */
export async function ports({ listeners }: Config): Promise<Diagnosis[]> {
  const { api, operations, public: published } = listeners;
  const addresses: Address[] = [
    { member: 'listeners.api', ...api },
    ...(operations.socketPath === undefined ? [{ member: 'listeners.operations', ...operations }] : []),
    ...(published === undefined ? [] : [{ member: 'listeners.public', ...published }]),
  ];
  const found = (await Promise.all(addresses.map(taken))).filter((one) => one !== undefined);
  return found.length > 0
    ? found
    : [good('ports', addresses.map(({ port }) => String(port)).join(', ') + ' are free, or held for signetd')];
}

async function taken({ member, host, port }: Address): Promise<Diagnosis | undefined> {
  const reason = await listenFault(host, port);
  if (reason === undefined) return undefined;
  if (reason !== 'EADDRINUSE')
    return fault('ports', `${member}: signetd cannot listen on ${host}, port ${port} (${reason}): correct ${member}.host and port`);
  const holder = holderOf(port);
  if (holder?.pid === managerPid) return undefined;
  const by = holder === undefined ? 'another process' : `${holder.name} (process ${holder.pid})`;
  return fault('ports', `${member}: port ${port} is taken by ${by}: stop it, or change ${member}.port`);
}

/** Returns the process that listens on a port, if this user may look into it (proc(5)). */
function holderOf(port: number): Holder | undefined {
  const sockets = new Set(['/proc/net/tcp', '/proc/net/tcp6'].flatMap((table) => listeningSockets(table, port)));
  if (sockets.size === 0) return undefined;
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    try {
      const descriptors = readdirSync(`/proc/${entry}/fd`);
      if (descriptors.some((descriptor) => sockets.has(readlinkSync(`/proc/${entry}/fd/${descriptor}`))))
        return { pid: Number(entry), name: readFileSync(`/proc/${entry}/comm`, 'utf8').trim() };
    } catch {
      // It has ended, or belongs to another user.
    }
  }
  return undefined;
}

/** Returns the sockets in state LISTEN, as their descriptors name them. */
function listeningSockets(table: string, port: number): string[] {
  const hexadecimal = port.toString(16).toUpperCase().padStart(4, '0');
  try {
    return readFileSync(table, 'utf8')
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .filter(([, local, , state]) => state === '0A' && local?.endsWith(`:${hexadecimal}`) === true)
      .map((columns) => `socket:[${columns[9] ?? ''}]`);
  } catch {
    return [];
  }
}
