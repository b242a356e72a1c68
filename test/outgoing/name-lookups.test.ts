import { expect, test } from 'vitest';
import { NameLookups } from '../../src/outgoing/name-lookups.ts';

const never = new AbortController().signal;

/** Look-ups that end when the test says so. */
class HeldLookups {
  readonly begun: string[] = [];
  readonly #ends = new Map<string, () => void>();
  readonly lookups = new NameLookups(async (hostname) => {
    this.begun.push(hostname);
    return new Promise((resolve) => {
      this.#ends.set(hostname, () => {
        resolve([`address of ${hostname}`]);
      });
    });
  });

  end(hostname: string): void {
    this.#ends.get(hostname)?.();
  }

  async of(tenant: string, hostname: string, signal = never): Promise<readonly string[]> {
    return this.lookups.addresses(hostname, tenant, signal);
  }
}

test('names of one tenant are looked up one at a time, those of another beside them', async () => {
  const held = new HeldLookups();
  const [first, second] = [held.of('a', 'slow-1'), held.of('a', 'slow-2')];
  const other = held.of('b', 'quick');
  await Promise.resolve();
  expect(held.begun).toEqual(['slow-1', 'quick']);
  held.end('quick');
  expect(await other).toEqual(['address of quick']);
  expect(held.begun).toEqual(['slow-1', 'quick']);
  held.end('slow-1');
  await first;
  await expect.poll(() => held.begun).toEqual(['slow-1', 'quick', 'slow-2']);
  held.end('slow-2');
  expect(await second).toEqual(['address of slow-2']);
});

test('a look-up that is given up keeps its place until it ends', async () => {
  const held = new HeldLookups();
  const waiting = new AbortController();
  const [first, second] = [held.of('a', 'slow-1'), held.of('a', 'slow-2', waiting.signal)];
  waiting.abort();
  await expect(second).rejects.toThrow('too many requests to other servers at once');
  held.end('slow-1');
  await first;
  expect(held.begun).toEqual(['slow-1']);
});

test('requests for one name share its look-up, and a later one looks again', async () => {
  const held = new HeldLookups();
  const both = [held.of('a', 'name'), held.of('b', 'name')];
  await Promise.resolve();
  held.end('name');
  expect(await Promise.all(both)).toEqual([['address of name'], ['address of name']]);
  expect(held.begun).toEqual(['name']);
  const again = held.of('a', 'name');
  await expect.poll(() => held.begun).toEqual(['name', 'name']);
  held.end('name');
  await again;
});

test('a look-up that fails is told to all that share it, and frees its place', async () => {
  let count = 0;
  const lookups = new NameLookups(async () => {
    count += 1;
    return Promise.reject(new Error(`failure ${count}`));
  });
  const both = await Promise.allSettled([lookups.addresses('x', 'a', never), lookups.addresses('x', 'a', never)]);
  expect(both.map((one) => (one.status === 'rejected' ? String(one.reason) : 'none'))).toContain('Error: failure 1');
  await expect(lookups.addresses('y', 'a', never)).rejects.toThrow('failure');
});
