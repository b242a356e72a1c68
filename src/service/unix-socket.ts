import { chmodSync, chownSync, rmSync, statSync } from 'node:fs';
import { createConnection, type Server } from 'node:net';
import { dirname } from 'node:path';

export interface SocketPermissions {
  readonly mode: number;
  /** Number of the group that the socket is given. Undefined: it stays in that of the process. */
  readonly group: number | undefined;
}

/** Mode 0660 for a group that is let in, 0600 where there is none. */
export function permissionsFor(group: number | undefined): SocketPermissions {
  return { mode: group === undefined ? 0o600 : 0o660, group };
}

/**
 * Listens at a path, in the place of what a process before has left there. Until it is permitted to
 * others, the user of the process alone may connect, since that one makes its files for itself
 * alone.
 * @throws {Error} if another service listens there, or nobody can
 */
export async function listenAtPath(server: Server, path: string, permissions: SocketPermissions): Promise<void> {
  if (await isListenedTo(path)) throw new Error(`another service listens at ${path}`);
  // Where the directory is missing, listening says that permission is.
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
 * Says who may connect to a Unix socket of this process.
 * @throws {Error} if the user of the process is not in the group
 */
export function permit(path: string, { mode, group }: SocketPermissions): void {
  const { uid, gid } = statSync(path);
  if (group !== undefined && group !== gid) chownSync(path, uid, group);
  chmodSync(path, mode);
}

/** A socket that an earlier process left refuses; a service that runs takes the connection. */
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
