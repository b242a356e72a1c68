import { describe, expect, it } from 'vitest';
import { operationPaces } from '../../../src/config/limits-config.ts';
import { OperationPace } from '../../../src/http/limits/operation-pace.ts';
import type { ReachedLimit } from '../../../src/http/limits/request-quota.ts';
import { Problem } from '../../../src/http/problem.ts';
import { operations } from '../../../src/operations/table.ts';
import { limitsInForce } from '../../support/limits.ts';

const strangers = { registered: () => undefined };

function outcome(act: () => void): string {
  try {
    act();
    return 'taken';
  } catch (error) {
    if (error instanceof Problem) return `${error.status} ${error.headers['Retry-After'] ?? ''}`;
    throw error;
  }
}

describe('the pace of an operation', () => {
  it('is twenty one-time passwords a minute for each client, with a correct Retry-After', () => {
    const now = { ms: 0 };
    const pace = new OperationPace(
      () => limitsInForce({}),
      strangers,
      () => now.ms,
    );
    const ask = (client = 'a'): string =>
      outcome(() => {
        pace.take('otpsPerMinute', client);
      });
    expect(Array.from({ length: 21 }, () => ask())).toEqual([...Array.from({ length: 20 }, () => 'taken'), '429 3']);
    expect(ask('b')).toBe('taken');
    now.ms = 2000;
    expect(ask()).toBe('429 1');
    now.ms = 3000;
    expect([ask(), ask()]).toEqual(['taken', '429 3']);
    now.ms = 3_600_000;
    expect(Array.from({ length: 21 }, () => ask()).filter((one) => one === 'taken')).toHaveLength(20);
  });

  it('goes by other limits after a reload, and counts each operation for itself', () => {
    const now = { ms: 0 };
    let limits = limitsInForce({ messagesPerMinute: 1 });
    const pace = new OperationPace(
      () => limits,
      strangers,
      () => now.ms,
    );
    const ask = (): string[] =>
      operationPaces.map((name) =>
        outcome(() => {
          pace.take(name, 'a');
        }),
      );
    expect([ask(), ask()]).toEqual([
      ['taken', 'taken'],
      ['taken', '429 60'],
    ]);
    limits = limitsInForce({ messagesPerMinute: 120 });
    now.ms = 500;
    expect(ask()).toEqual(['taken', 'taken']);
  });

  it('remembers what each client has used, however many clients there are', () => {
    const now = { ms: 0 };
    const pace = new OperationPace(
      () => limitsInForce({ otpsPerMinute: 1 }),
      strangers,
      () => now.ms,
    );
    const ask = (client: string): string =>
      outcome(() => {
        pace.take('otpsPerMinute', client);
      });
    for (let client = 0; client < 1024; client += 1) ask(String(client));
    expect(ask('0')).toBe('429 60');
    ask('another');
    expect(ask('0')).toBe('429 60');
  });

  it('is that of the client by its name, where the configuration has one', () => {
    const limits = limitsInForce(
      { otpsPerMinute: 1 },
      { retail: { perClient: { otpsPerMinute: 2 }, clients: { app: { otpsPerMinute: 3 } } } },
    );
    const refused: string[] = [];
    const surroundings = {
      registered: (client: string) => (client === 'unknown' ? undefined : { tenant: 'retail', name: client }),
      refused: ({ tenant, limit }: ReachedLimit) => refused.push(`${tenant} ${limit}`),
    };
    const pace = new OperationPace(
      () => limits,
      surroundings,
      () => 0,
    );
    const taken = (client: string): number =>
      Array.from({ length: 4 }, () =>
        outcome(() => {
          pace.take('otpsPerMinute', client);
        }),
      ).filter((one) => one === 'taken').length;
    expect([taken('app'), taken('other'), taken('unknown')]).toEqual([3, 2, 1]);
    expect(refused).toEqual([
      ...Array.from({ length: 3 }, () => 'retail otpsPerMinute'),
      ...Array.from({ length: 3 }, () => 'undefined otpsPerMinute'),
    ]);
  });

  it('is declared by the operations that send something', () => {
    expect(operations.flatMap(({ path, pace }) => (pace === undefined ? [] : [`${path} ${pace}`])).toSorted()).toEqual([
      'csc/v1/credentials/sendOTP otpsPerMinute',
      'csc/v2/credentials/getChallenge otpsPerMinute',
      'csc/v2/credentials/sendOTP otpsPerMinute',
      'pki/sendMessage messagesPerMinute',
      'pki/sendOTP otpsPerMinute',
    ]);
  });
});
