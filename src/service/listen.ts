import type { Server } from 'node:net';
import { groupNumber } from './accounts.ts';
import { native } from './native.ts';
import { listenAtPath, permissionsFor } from './unix-socket.ts';

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
  /** A Unix socket instead, for the user of the process, and for a group where one is named. */
  readonly socketPath?: string | undefined;
  readonly socketGroup?: string | number | undefined;
}

/**
 * Connections that may wait to be accepted: as many as Linux lets wait by default
 * (net.core.somaxconn).
 */
const backlog = 4096;

/**
 * Listens on the socket that the service manager holds, else at the address.
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
  // Else a token host started by this process would keep the port open after its end.
  if (fd !== undefined) native().closeOnExec(fd);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    const listening = (): void => {
      server.off('error', reject);
      resolve();
    };
    if (fd === undefined) server.listen({ port, host, backlog }, listening);
    else server.listen({ fd, backlog }, listening);
  });
}

/** Where a server listens, for the log. */
export function addressOf(server: Server): string {
  const address = server.address();
  if (address === null || typeof address === 'string') return address ?? 'a Unix socket that was handed over';
  return `${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`;
}
