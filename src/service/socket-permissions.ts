import { chmodSync, chownSync, statSync } from 'node:fs';

export interface SocketPermissions {
  readonly mode: number;
  /** Number of the group that the socket is given. Undefined: it stays in that of the process. */
  readonly group: number | undefined;
}

/**
 * Says who may connect to a Unix socket of this process, which until then its user alone may: a process makes what it makes for its own user.
 * @throws {Error} where the user of the process is not in the group
 */
export function permit(socketPath: string, { mode, group }: SocketPermissions): void {
  const { uid, gid } = statSync(socketPath);
  if (group !== undefined && group !== gid) chownSync(socketPath, uid, group);
  chmodSync(socketPath, mode);
}
