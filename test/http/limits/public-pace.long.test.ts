import { once } from 'node:events';
import { request } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { createPublicServer } from '../../../src/http/public/public-listener.ts';

type PublicServer = ReturnType<typeof createPublicServer>;
const witness = { closed: (): void => undefined };
let server: PublicServer | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

/** Statuses of so many requests that come at once, and how long they took. */
async function flood(requestsPerSecond: number, count: number): Promise<{ statuses: Map<number, number>; seconds: number }> {
  const settings = {
    host: '127.0.0.1',
    port: 0,
    connectionsMax: 1000,
    connectionsMaxPerAddress: 1000,
    sharedAddresses: [],
    idleTimeoutSeconds: 10,
    ocspSignaturesPerSecond: 1,
    timeStampsPerSecond: 1,
    requestsPerSecond,
  };
  server = createPublicServer(
    settings,
    [
      (_request, response) => {
        response.end('x');
        return true;
      },
    ],
    witness,
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const begun = performance.now();
  const got = await Promise.all(
    Array.from(
      { length: count },
      async () =>
        new Promise<number>((resolve, reject) => {
          const sent = request({ port, host: '127.0.0.1', agent: false }, (response) => {
            response.resume();
            resolve(response.statusCode ?? 0);
          });
          sent.on('error', reject);
          sent.end();
        }),
    ),
  );
  const statuses = new Map<number, number>();
  for (const status of got) statuses.set(status, (statuses.get(status) ?? 0) + 1);
  return { statuses, seconds: (performance.now() - begun) / 1000 };
}

describe('requests of strangers', () => {
  it('are served at a limited rate; faster ones wait', async () => {
    const { statuses, seconds } = await flood(100, 110);
    expect(statuses).toEqual(new Map([[200, 110]]));
    // A tenth of a second's share comes at once.
    expect(seconds).toBeGreaterThan(0.95);
  });

  it('are refused if they would wait for more than two seconds', async () => {
    const { statuses } = await flood(50, 300);
    expect(statuses.get(200)).toBeGreaterThanOrEqual(100);
    expect(statuses.get(503)).toBeGreaterThan(0);
    expect((statuses.get(200) ?? 0) + (statuses.get(503) ?? 0)).toBe(300);
  });

  it('are not slowed down below it', async () => {
    const { statuses } = await flood(100_000, 500);
    expect(statuses).toEqual(new Map([[200, 500]]));
  });
});

describe('a connection of a stranger', () => {
  /** A listener whose answers nobody can take in at once. */
  async function bigAnswers(): Promise<number> {
    const settings = {
      host: '127.0.0.1',
      port: 0,
      connectionsMax: 10,
      connectionsMaxPerAddress: 10,
      sharedAddresses: [],
      idleTimeoutSeconds: 1,
      ocspSignaturesPerSecond: 1,
      timeStampsPerSecond: 1,
    };
    const body = Buffer.alloc(16 * 1024 * 1024);
    server = createPublicServer(
      { ...settings, requestsPerSecond: 10_000 },
      [
        (_request, response) => {
          asked += 1;
          response.end(body);
          return true;
        },
      ],
      witness,
    );
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  }
  let asked = 0;
  const one = 'GET / HTTP/1.1\r\nHost: here\r\n\r\n';

  it('that pipelines requests without end is closed, and few of them are processed', async () => {
    const client = connect(await bigAnswers(), '127.0.0.1').on('error', () => undefined);
    client.pause();
    client.write(one.repeat(1500));
    const [connection] = (await once(server ?? client, 'connection')) as [Socket];
    await once(connection, 'close');
    expect(asked).toBeLessThanOrEqual(16);
    client.destroy();
  });

  it('that reads no answer is closed', async () => {
    const client = connect(await bigAnswers(), '127.0.0.1').on('error', () => undefined);
    client.pause();
    client.write(one);
    const [connection] = (await once(server ?? client, 'connection')) as [Socket];
    await once(connection, 'close');
    client.destroy();
  }, 120_000);
});
