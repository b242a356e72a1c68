import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TokenClient } from '../../src/token/client/token-client.ts';
import { newKeyId } from '../../src/token/key-id.ts';
import { TokenBusy } from '../../src/token/token.ts';
import { faultModule, type FaultModule } from '../support/fault-module.ts';
import { scratchToken } from '../support/scratch-token.ts';
import { recordingLog } from '../support/silent-log.ts';

let module: FaultModule;

beforeAll(() => {
  module = faultModule();
});

afterAll(() => {
  module.remove();
});

const digest = createHash('sha256').update('document').digest();
const ecdsa = { scheme: 'ECDSA', hash: 'sha256' } as const;
const rsa = { scheme: 'RSA_PKCS1', hash: 'sha256' } as const;

type Seen = [operation: string, waitedMs: number, tokenMs: number];

/** A token of its own whose every signature takes `latencyMs`, for the time of a test. */
async function withToken(
  settings: Record<string, number>,
  latencyMs: number,
  test: (token: TokenClient, log: ReturnType<typeof recordingLog>, seen: readonly Seen[]) => Promise<void>,
): Promise<void> {
  const scratch = scratchToken({ threads: 2, modulePath: module.path, ...settings });
  const environment = { ...scratch.config.environment, ...module.environment, FAULT_LATENCY_MS: String(latencyMs) };
  const log = recordingLog();
  const seen: Seen[] = [];
  const token = new TokenClient({ ...scratch.config, environment }, scratch.configPath, log, (operation, _status, waitedMs, tokenMs) => {
    seen.push([operation, waitedMs, tokenMs]);
  });
  try {
    await token.start();
    await test(token, log, seen);
  } finally {
    await token.stop();
    scratch.remove();
  }
}

describe('more requests than the token serves', () => {
  it('are refused at once when the queue is longer than the deadline, and the others are served within it', async () => {
    await withToken({ callTimeoutSeconds: 1 }, 40, async (token) => {
      const key = newKeyId('general');
      await token.createKey(key, 'P-256');
      // The client learns from the first ones how slow this token is.
      await Promise.all(Array.from({ length: 30 }, async () => token.signDigests(key, ecdsa, [digest])));
      const begin = performance.now();
      const outcomes = await Promise.allSettled(
        Array.from({ length: 200 }, async () => {
          try {
            await token.signDigests(key, ecdsa, [digest]);
          } catch (error) {
            throw new Error(String(performance.now() - begin), { cause: error });
          }
        }),
      );
      const refused = outcomes.flatMap((outcome) =>
        outcome.status === 'rejected' && outcome.reason instanceof Error ? [outcome.reason] : [],
      );
      // 0.8 s of work at 2 × 25 a second, and what the threads hold, is let in.
      expect(refused.length).toBeGreaterThan(100);
      expect(refused.length).toBeLessThan(180);
      for (const { cause, message } of refused) {
        expect(cause).toBeInstanceOf(TokenBusy);
        expect(Number(message)).toBeLessThan(200);
      }
      expect(token.busySeconds(undefined)).toBeUndefined();
      expect(token.waiting).toBe(0);
    });
  });

  it('never exceed the configured number', async () => {
    await withToken({ queueMaxRequests: 10 }, 5, async (token) => {
      const outcomes = await Promise.allSettled(Array.from({ length: 100 }, async () => token.random(16)));
      const served = outcomes.filter(({ status }) => status === 'fulfilled').length;
      // Ten wait, and each of two threads holds some.
      expect(served).toBeGreaterThanOrEqual(10);
      expect(served).toBeLessThanOrEqual(10 + 2 * 32);
      expect(served).toBeLessThan(100);
    });
  });

  it('are measured separately: the time they waited, and the time the token worked', async () => {
    await withToken({}, 20, async (token, _log, seen) => {
      const key = newKeyId('general');
      await token.createKey(key, 'P-256');
      await Promise.all(Array.from({ length: 20 }, async () => token.signDigests(key, ecdsa, [digest])));
      const signed = seen.filter(([operation]) => operation === 'sign');
      expect(signed.length).toBe(20);
      for (const [, , tokenMs] of signed) expect(tokenMs).toBeGreaterThanOrEqual(20);
      // Ten signatures of 20 ms one after the other on each of two threads.
      expect(Math.max(...signed.map(([, waitedMs]) => waitedMs))).toBeGreaterThan(120);
      expect(Math.min(...signed.map(([, waitedMs]) => waitedMs))).toBeLessThan(120);
    });
  });
});

describe('keys that take long to make', () => {
  it('leave a thread for signatures', async () => {
    await withToken({}, 0, async (token) => {
      const key = newKeyId('general');
      await token.createKey(key, 'P-256');
      let made = 0;
      const making = Array.from({ length: 4 }, async () => {
        await token.createKey(newKeyId('general'), 'RSA-2048');
        made += 1;
      });
      for (let count = 0; count < 20; count += 1) await token.signDigests(key, ecdsa, [digest]);
      expect(made).toBeLessThan(4);
      await Promise.all(making);
    });
  });
});

describe('the host makes room for a new one', () => {
  it.each([
    ['after so many requests', { recycleAfterRequests: 100 }, 'it has served'],
    ['after so long a time', { recycleAfterSeconds: 1 }, 'it has run for'],
  ])('%s, and no request is lost', async (_when, settings, reason) => {
    await withToken(settings, 0, async (token, log) => {
      const key = newKeyId('general');
      await token.createKey(key, 'RSA-2048');
      const pids = new Set([token.hostPid]);
      const deadline = performance.now() + 20_000;
      while (pids.size < 3 && performance.now() < deadline) {
        // One after the other, so that some come at whatever moment the host ends.
        const sent = Array.from({ length: 50 }, async (_, index) => {
          await delay(2 * index);
          await token.signDigests(key, rsa, [digest]);
        });
        await Promise.all(sent);
        if (token.hostPid !== undefined) pids.add(token.hostPid);
      }
      expect(pids.size).toBe(3);
      expect(log.lines.filter((line) => line.includes(reason)).length).toBeGreaterThanOrEqual(2);
      expect(log.lines.some((line) => line.includes('lost'))).toBe(false);
    });
  });
});
