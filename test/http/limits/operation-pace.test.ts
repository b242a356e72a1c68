import { describe, expect, it } from 'vitest';
import { LimitsConfig, operationPaces } from '../../../src/config/limits-config.ts';
import { OperationPace } from '../../../src/http/limits/operation-pace.ts';
import { Problem } from '../../../src/http/problem.ts';
import { operations } from '../../../src/operations/table.ts';

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
    const pace = new OperationPace(LimitsConfig.parse({}), () => now.ms);
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
    const pace = new OperationPace(LimitsConfig.parse({ messagesPerMinute: 1 }), () => now.ms);
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
    pace.use(LimitsConfig.parse({ messagesPerMinute: 120 }));
    now.ms = 500;
    expect(ask()).toEqual(['taken', 'taken']);
  });

  it('remembers what each client has used, however many clients there are', () => {
    const now = { ms: 0 };
    const pace = new OperationPace(LimitsConfig.parse({ otpsPerMinute: 1 }), () => now.ms);
    const ask = (client: string): string =>
      outcome(() => {
        pace.take('otpsPerMinute', client);
      });
    for (let client = 0; client < 1024; client += 1) ask(String(client));
    expect(ask('0')).toBe('429 60');
    ask('another');
    expect(ask('0')).toBe('429 60');
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
