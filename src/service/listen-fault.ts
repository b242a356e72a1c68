import { createServer } from 'node:net';

/**
 * Tries to listen at an address. Returns the code of the error, such as `EADDRINUSE`; undefined if
 * the address is free.
 */
export async function listenFault(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => {
      resolve(error.code ?? error.message);
    });
    server.listen({ host, port, exclusive: true }, () => {
      server.close(() => {
        resolve(undefined);
      });
    });
  });
}
