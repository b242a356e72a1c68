import { createServer } from 'node:net';

export const loopback = '127.0.0.1';

/** Whether nobody listens on a port of the loopback address. */
export async function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => {
      resolve(false);
    });
    server.listen(port, loopback, () => {
      server.close(() => {
        resolve(true);
      });
    });
  });
}

/** The wanted port, or the next one upwards that is free and not among those taken already. */
export async function freePort(wanted: number, taken: readonly number[] = []): Promise<number> {
  for (let port = wanted; port < wanted + 1000; port += 1) {
    if (!taken.includes(port) && (await isFree(port))) return port;
  }
  throw new Error(`no free port from ${wanted} on`);
}
