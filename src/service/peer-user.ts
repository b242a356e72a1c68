import type { Socket } from 'node:net';
import { native } from './native.ts';

/**
 * Number of the user who opened a connection to a Unix socket; the kernel tells it. Undefined if
 * the connection has ended already.
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

/** Node shows a socket's descriptor to nobody, but on the handle that it works with. */
function descriptorOf(socket: Socket): number | undefined {
  const handle: unknown = Reflect.get(socket, '_handle');
  const fd: unknown = typeof handle === 'object' && handle !== null ? Reflect.get(handle, 'fd') : undefined;
  return typeof fd === 'number' && fd >= 0 ? fd : undefined;
}
