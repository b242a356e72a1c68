import { chmodSync, chownSync, rmSync, statSync } from 'node:fs';
import { createConnection, type Server } from 'node:net';
import { dirname } from 'node:path';

export interface SocketPermissions {
  readonly mode: number;
  /** gid of the socket. Undefined: the group of the process. */
  readonly group: number | undefined;
}

/** Returns mode 0660 if a group has access, otherwise 0600. */
export function permissionsFor(group: number | undefined): SocketPermissions {
  return { mode: group === undefined ? 0o600 : 0o660, group };
}

/**
 * Listens at a path, replacing a socket that an earlier process left. Until `permit` is called,
 * only the user of the process can connect, because of its umask.
 * @throws {Error} if another service listens there, or listening fails
 */
export async function listenAtPath(server: Server, path: string, permissions: SocketPermissions): Promise<void> {
  if (await isListenedTo(path)) throw new Error(`another service is listening at ${path}`);
  // If the directory is missing or not accessible, listening reports it.
  statSync(dirname(path));
  rmSync(path, { force: true });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, () => {
      server.off('error', reject);
      resolve();
    });
  });
  try {
    permit(path, permissions);
  } catch (error) {
    server.close();
    throw error;
  }
}

/**
 * Sets who may connect to a Unix socket of this process.
 * @throws {Error} if the user of the process is not in the group
 */
export function permit(path: string, { mode, group }: SocketPermissions): void {
  const { uid, gid } = statSync(path);
  if (group !== undefined && group !== gid) chownSync(path, uid, group);
  chmodSync(path, mode);
}

/**
 * Checks whether a service listens at the path: a socket left by an earlier process refuses
 * connections.
 */
async function isListenedTo(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => {
      resolve(false);
    });
  });
}
