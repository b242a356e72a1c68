import type { Server } from 'node:net';
import { groupNumber, native } from './native.ts';
import { listenAtPath, permissionsFor } from './unix-socket.ts';

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
  /** A Unix socket instead, for the user of the process and, if one is named, for a group. */
  readonly socketPath?: string | undefined;
  readonly socketGroup?: string | number | undefined;
}

/**
 * Maximum number of connections waiting to be accepted: the default limit of Linux
 * (net.core.somaxconn).
 */
const backlog = 4096;

/**
 * Listens on the socket that the service manager passed, or else at the address.
 * @throws {Error} if it cannot
 */
export async function listen(
  server: Server,
  { host, port, socketPath, socketGroup }: ListenAddress,
  fd: number | undefined,
): Promise<void> {
  if (fd === undefined && socketPath !== undefined) {
    const group = socketGroup === undefined ? undefined : groupNumber(socketGroup);
    await listenAtPath(server, socketPath, permissionsFor(group));
    return;
  }
  // Otherwise, a token host started by this process would keep the port open after the process
  // ends.
  if (fd !== undefined) native().closeOnExec(fd);
  await new Promise<void>((resolve, reject) => {
    const failed = (error: NodeJS.ErrnoException): void => {
      reject(error);
    };
    server.once('error', failed);
    const listening = (): void => {
      server.off('error', failed);
      resolve();
    };
    if (fd === undefined) server.listen({ port, host, backlog }, listening);
    else server.listen({ fd, backlog }, listening);
  });
}

/** Returns the address of a server, for the log. */
export function addressOf(server: Server): string {
  const address = server.address();
  if (address === null || typeof address === 'string') return address ?? 'a Unix socket from the service manager';
  return `${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`;
}
