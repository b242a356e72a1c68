import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { storeOfRows } from './store-of-rows.ts';

const opened = storeOfRows();
const now = 1_900_000_000_000;
const dayMs = 86_400_000;

const count = async (at: number, ...counted: { subject: string; more: number; intervalMs: number }[]): Promise<void> =>
  opened.store.run('countWrongSecrets', { counted, now: at });
const missing = async (subject: string): Promise<unknown> => (await opened.store.run('findSecretPaces', [subject]))[0]?.missing;

it('wrong secrets of clients and tenants add up, and each is forgotten after its interval', async () => {
  const [client, tenant, other] = [randomUUID(), randomUUID(), randomUUID()];
  const wrong = (at: number): Promise<void> =>
    count(at, { subject: tenant, more: 2, intervalMs: 100 }, { subject: client, more: 3, intervalMs: 1000 });
  await wrong(now);
  expect([await missing(client), await missing(tenant), await missing(other)]).toEqual([3, 2, undefined]);
  await wrong(now + 100);
  expect(await missing(client)).toBeCloseTo(5.9, 5);
  expect(await missing(tenant)).toBeCloseTo(3, 5);
  // Never fewer than none, and a clock that was set back forgets nothing.
  await wrong(now + 100_000);
  expect([await missing(client), await missing(tenant)]).toEqual([3, 2]);
  await wrong(now + 99_000);
  expect([await missing(client), await missing(tenant)]).toEqual([6, 4]);
});

it('those of a month ago are removed', async () => {
  const [old, recent] = [randomUUID(), randomUUID()];
  await count(now, { subject: old, more: 1, intervalMs: 1 });
  await count(now + 1, { subject: recent, more: 1, intervalMs: 1 });
  await count(now + 30 * dayMs - 1);
  expect([await missing(old), await missing(recent)]).toEqual([1, 1]);
  await count(now + 30 * dayMs);
  expect([await missing(old), await missing(recent)]).toEqual([undefined, 1]);
});
