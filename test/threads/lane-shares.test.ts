import { availableParallelism } from 'node:os';
import { BroadcastChannel } from 'node:worker_threads';
import { afterAll, describe, expect, test } from 'vitest';
import { asRequest, currentRequest, type RequestIdentity } from '../../src/telemetry/current-request.ts';
import { WorkThreads, type ThreadFunction } from '../../src/threads/work-threads.ts';
import { loadedChannel } from './announcing-functions.ts';

const module = new URL('./thread-functions.ts', import.meta.url);
const waits: number[] = [];
const threads = new WorkThreads({ waited: (_lane, ms) => waits.push(ms) });
afterAll(async () => threads.stop());

/** Tasks of a tenant that run at the same time. */
const atOnce = Math.min(2, Math.max(1, availableParallelism() - 1));
const spin: ThreadFunction = { module, name: 'spin', lane: 'parsing', whenClientIsGone: 'stops' };
const double: ThreadFunction = { module, name: 'double', lane: 'parsing' };

async function asTenant<T>(tenant: string, work: () => Promise<T>): Promise<T> {
  return asRequest({}, async () => {
    const identity = currentRequest();
    if (identity !== undefined) identity.sender = { tenant, client: 'one' };
    return work();
  });
}

/** Runs a function in a thread, for a request of the client. */
function running(
  called: ThreadFunction,
  tenant: string,
  client = 'one',
): { readonly identity: RequestIdentity; readonly outcome: Promise<unknown> } {
  return asRequest({}, () => {
    const identity = currentRequest();
    if (identity === undefined) throw new Error('there is a request');
    identity.sender = { tenant, client };
    return { identity, outcome: threads.run<unknown>(called, { number: 21 }).catch((error: unknown) => error) };
  });
}

const gone = { name: 'Fault', code: 'CLIENT_GONE' };

test('a thread for another tenant is ready before it is needed', async () => {
  const lane = new WorkThreads();
  const announcing = (name: string): ThreadFunction => ({
    module: new URL('./announcing-functions.ts', import.meta.url),
    name,
    lane: 'parsing',
  });
  const channel = new BroadcastChannel(loadedChannel);
  const loadedBy: unknown[] = [];
  const told = new Int32Array(new SharedArrayBuffer(4));
  try {
    const isReady = new Promise<void>((resolve) => {
      channel.addEventListener('message', (event: Event) => {
        if (loadedBy.push('data' in event ? event.data : undefined) === atOnce + 1) resolve();
      });
    });
    await lane.run(announcing('thread'), {});
    const busy = Array.from({ length: atOnce }, async () => lane.run<number>(announcing('untilTold'), { told: told.buffer }));
    await isReady;
    const other = await asTenant('other', async () => lane.run<number>(announcing('thread'), {}));
    Atomics.store(told, 0, 1);
    expect([...(await Promise.all(busy)), other].toSorted((a, b) => a - b)).toEqual(loadedBy.toSorted((a, b) => Number(a) - Number(b)));
  } finally {
    Atomics.store(told, 0, 1);
    channel.close();
    await lane.stop();
  }
});

describe('the threads of a lane', () => {
  test('serve another tenant while one keeps all of its own busy, and has more waiting', async () => {
    const busy = Array.from({ length: atOnce + 3 }, () => running(spin, 'busy'));
    expect(threads.waiting('parsing')).toBe(3);
    expect(await running(double, 'other').outcome).toBe(42);
    expect(threads.waiting('parsing')).toBe(3);
    for (const { identity } of busy) identity.leave();
    for (const { outcome } of busy) expect(await outcome).toMatchObject(gone);
  });

  test('take turns among the clients of a tenant', async () => {
    const busy = Array.from({ length: atOnce }, () => running(spin, 'tenant', 'first'));
    const order: string[] = [];
    const noting = async ({ outcome }: { outcome: Promise<unknown> }, name: string): Promise<unknown> => {
      const value = await outcome;
      order.push(name);
      return value;
    };
    const later = ['a', 'b', 'c', 'd'].map(async (name) => noting(running(double, 'tenant', 'first'), name));
    later.push(noting(running(double, 'tenant', 'second'), 'second'));
    const [one, ...others] = busy;
    one?.identity.leave();
    await Promise.all(later);
    expect(order.indexOf('second')).toBeLessThan(order.indexOf('b'));
    for (const { identity } of others) identity.leave();
    for (const { outcome } of busy) expect(await outcome).toMatchObject(gone);
  });

  test('drop the task of a client that is gone, whether it waits, runs or would begin', async () => {
    const busy = Array.from({ length: atOnce + 2 }, () => running(spin, 'leaving'));
    const last = busy.at(-1);
    last?.identity.leave();
    expect(await last?.outcome).toMatchObject(gone);
    expect(threads.waiting('parsing')).toBe(1);
    for (const { identity } of busy) identity.leave();
    for (const { outcome } of busy) expect(await outcome).toMatchObject(gone);
    const { identity } = running(double, 'leaving');
    identity.leave();
    expect(
      await asRequest({}, async () => {
        currentRequest()?.leave();
        return threads.run(spin, {}).catch((error: unknown) => error);
      }),
    ).toMatchObject(gone);
    expect(threads.waiting('parsing')).toBe(0);
  });

  test('finish a task that must not stop half-way, although its client is gone', async () => {
    const { identity, outcome } = running(double, 'leaving');
    identity.leave();
    expect(await outcome).toBe(42);
  });

  test('tell how long each task waited', async () => {
    waits.length = 0;
    await running(double, 'tenant').outcome;
    expect(waits).toEqual([expect.any(Number)]);
  });
});
