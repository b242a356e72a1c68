import type { Socket } from 'node:net';
import { native } from './native.ts';

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

/** Returns a socket's descriptor, which Node only exposes on its internal handle. */
function descriptorOf(socket: Socket): number | undefined {
  const handle: unknown = Reflect.get(socket, '_handle');
  const fd: unknown = typeof handle === 'object' && handle !== null ? Reflect.get(handle, 'fd') : undefined;
  return typeof fd === 'number' && fd >= 0 ? fd : undefined;
}
