import type { Socket } from 'node:net';

/** Returns a socket's descriptor, which Node only exposes on its internal handle. */
export function descriptorOf(socket: Socket): number | undefined {
  const handle: unknown = Reflect.get(socket, '_handle');
  const fd: unknown = typeof handle === 'object' && handle !== null ? Reflect.get(handle, 'fd') : undefined;
  return typeof fd === 'number' && fd >= 0 ? fd : undefined;
}
