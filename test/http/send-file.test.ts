import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { sendFile } from '../../src/http/send.ts';

test('a client that disconnects while a piece is read ends the transfer', async () => {
  const ended = Promise.withResolvers<number>();
  const server = createServer((_request, response) => {
    let reads = 0;
    const file = {
      async read<T extends NodeJS.ArrayBufferView>(buffer: T): Promise<{ bytesRead: number; buffer: T }> {
        reads += 1;
        if (reads === 2) {
          client.destroy();
          await once(response, 'close');
        }
        return { bytesRead: buffer.byteLength, buffer };
      },
    };
    response.writeHead(200, { 'Content-Length': '1048576' });
    sendFile(response, file, 1_048_576).then(() => {
      ended.resolve(reads);
    }, ended.reject);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.on('error', () => undefined).resume();
  client.write('GET / HTTP/1.1\r\nHost: here\r\n\r\n');
  expect(await ended.promise).toBeLessThanOrEqual(3);
  server.close();
});
