import type { Socket } from 'node:net';
import { descriptorOf, native } from './native.ts';

/**
 * Returns the uid of the process that connected to a Unix socket, as reported by the kernel.
 * Undefined if the connection has already ended.
 */
export function peerUser(socket: Socket): number | undefined {
  const fd = descriptorOf(socket);
  if (fd === undefined) return undefined;
  try {
    return native().peerUser(fd);
  } catch {
    return undefined;
  }
}
