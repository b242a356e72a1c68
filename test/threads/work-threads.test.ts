import { afterAll, describe, expect, test } from 'vitest';
import { WorkThreads, type Lane, type ThreadFunction } from '../../src/threads/work-threads.ts';

const module = new URL('./thread-functions.ts', import.meta.url);
const threads = new WorkThreads();
const hasty = new WorkThreads({ deadlinesMs: { parsing: 2000 } });
afterAll(async () => {
  await threads.stop();
  await hasty.stop();
});

const timeout = { name: 'Fault', code: 'TASK_TIMEOUT' };
const called = (name: string, lane: Lane): ThreadFunction => ({ module, name, lane });

describe('work threads', () => {
  test.each(['parsing', 'hashing'] as const)('run a function in the lane %s, and pass on what it throws', async (lane) => {
    expect(await threads.run(called('double', lane), { number: 21 })).toBe(42);
    await expect(threads.run(called('fail', lane), {})).rejects.toThrow('out of range');
  });

  test('end a task that takes too long, and continue with the next one', async () => {
    await expect(hasty.run(called('spin', 'parsing'), {})).rejects.toMatchObject(timeout);
    // On a busy machine a thread may need longer than that to start.
    const next = async (): Promise<unknown> => hasty.run(called('double', 'parsing'), { number: 1 }).catch(() => undefined);
    await expect.poll(next, { timeout: 50_000 }).toBe(2);
  });

  test('hash while every thread for parsing is busy', async () => {
    const busy = Array.from({ length: 4 }, async () => hasty.run(called('spin', 'parsing'), {}).catch((error: unknown) => error));
    expect(await hasty.run(called('double', 'hashing'), { number: 2 })).toBe(4);
    for (const outcome of await Promise.all(busy)) expect(outcome).toMatchObject(timeout);
  });
});
