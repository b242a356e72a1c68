import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { daemonWithLimits, type LimitedDaemon } from '../../support/limited-daemon.ts';
import { RawConnection } from '../../support/raw-connection.ts';

let daemon: LimitedDaemon;

beforeAll(async () => {
  daemon = await daemonWithLimits({ otpsPerMinute: 2, messagesPerMinute: 1 });
});
afterAll(async () => {
  await daemon.remove();
});

/** The statuses of requests with an empty object, one after the other, and all that came with them. */
async function ask(client: string, operation: string, times: number): Promise<{ statuses: number[]; received: string }> {
  const statuses: number[] = [];
  let received = '';
  for (let time = 0; time < times; time += 1) {
    const connection = await RawConnection.open(daemon.peer(client));
    connection.write(
      `POST /sign/pki/${operation} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}`,
    );
    await connection.closed();
    statuses.push(connection.statuses.at(-1) ?? 0);
    received += connection.received;
  }
  return { statuses, received };
}

describe('a client that sends too many', () => {
  it('requests of sendOTP gets 429 with Retry-After; other operations and other clients do not', async () => {
    const { statuses, received } = await ask('app', 'sendOTP', 3);
    expect(statuses).toEqual([200, 200, 429]);
    expect(received).toMatch(/retry-after: (2\d|30)\r/i);
    expect(received).toContain('2 requests of this operation per minute');
    expect((await ask('app', 'checkKey', 3)).statuses).toEqual([200, 200, 200]);
    expect((await ask('other', 'sendOTP', 1)).statuses).toEqual([200]);
  });

  it('requests of sendMessage gets 429', async () => {
    expect((await ask('app', 'sendMessage', 2)).statuses).toEqual([200, 429]);
  });
});
