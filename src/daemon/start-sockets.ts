import { accessSync, constants } from 'node:fs';
import { dirname } from 'node:path';
import type { Config } from '../config/config.ts';
import { ConfigError } from '../config/config-error.ts';
import { unitNames } from '../config/unit-names.ts';
import { listenFault } from '../service/listen-fault.ts';
import { listenFds } from '../service/listen-fds.ts';
import { reasonOf } from '../telemetry/reason-of.ts';

/**
 * Compares the sockets that the service manager passed with the configured listeners, and tries those
 * addresses at which the process would listen itself, and the directories of its Unix sockets.
 * @returns the descriptors of the passed sockets, by name
 * @throws {ConfigError} with one line for each listener that can have no socket
 * @throws {Error} for an address that is taken or not there now, or a directory in which it can make
 *   no socket
 */
export async function startSockets(
  configPath: string,
  { listeners, admin }: Pick<Config, 'listeners' | 'admin'>,
): Promise<ReadonlyMap<string, number>> {
  const sockets = passedSockets(Object.keys(listeners));
  const lacking: string[] = [];
  for (const [name, listener] of Object.entries(listeners)) {
    if (listener === undefined || sockets.has(name) || ('socketPath' in listener && listener.socketPath !== undefined)) continue;
    const { host, port } = listener;
    const code = await listenFault(host, port);
    if (code === undefined) continue;
    const address = `listeners.${name}: ${host}:${port}`;
    if (code === 'EAFNOSUPPORT') lacking.push(`${address}: ${withoutSocket(configPath, name)}`);
    else if (code === 'EACCES')
      lacking.push(`${address}: the process may not listen there (EACCES): set another port, or have systemd pass a socket`);
    else throw new Error(`${address}: ${code === 'EADDRINUSE' ? 'another process listens there' : `nobody can listen there (${code})`}`);
  }
  if (lacking.length > 0) throw new ConfigError(lacking.join('\n'));
  const { operations } = listeners;
  if (!sockets.has('operations')) checkPlace('listeners.operations.socketPath', operations.socketPath);
  checkPlace('admin.socketPath', admin.socketPath);
  if (admin.approvals !== 1) checkPlace('admin.approvalSocketPath', admin.approvalSocketPath);
  return sockets;
}

/** @throws {Error} where the process can make no socket at a path */
function checkPlace(member: string, path: string | undefined): void {
  if (path === undefined) return;
  try {
    accessSync(dirname(path), constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new Error(`${member}: no socket can be made in this directory: ${reasonOf(error)}`, { cause: error });
  }
}

/** The units of the package may open no network sockets. */
function withoutSocket(configPath: string, name: string): string {
  const { service, socketOf } = unitNames(configPath) ?? { service: 'signetd.service', socketOf: () => 'the socket unit of this listener' };
  return `systemd passes no socket for this listener, and the unit may open none: run systemctl enable ${socketOf(name)}, then systemctl restart ${service}`;
}

function passedSockets(names: readonly string[]): ReadonlyMap<string, number> {
  try {
    return listenFds(process.env, process.pid, names);
  } catch (error) {
    throw new ConfigError(`the sockets of systemd do not fit the configuration: ${reasonOf(error)}`);
  }
}
