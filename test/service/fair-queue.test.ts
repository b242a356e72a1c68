import { expect, test } from 'vitest';
import { FairQueue } from '../../src/service/fair-queue.ts';

const of = (tenant: string, client = 'one') => ({ tenant, client });

function filled(...items: readonly string[]): FairQueue<string> {
  const queue = new FairQueue<string>();
  // `tenant/client/…`
  for (const item of items) {
    const [tenant = '', client = ''] = item.split('/');
    queue.push(item, { tenant, client });
  }
  return queue;
}

function emptied(queue: FairQueue<string>): string[] {
  const taken: string[] = [];
  for (let item = queue.take(); item !== undefined; item = queue.take()) taken.push(item);
  return taken;
}

test('tenants take turns, however much each has waiting', () => {
  expect(emptied(filled('a/x/1', 'a/x/2', 'a/x/3', 'b/y/1', 'c/z/1', 'b/y/2'))).toEqual([
    ...['a/x/1', 'b/y/1', 'c/z/1'],
    ...['a/x/2', 'b/y/2', 'a/x/3'],
  ]);
});

test('within the turns of a tenant, its clients take turns', () => {
  expect(emptied(filled('a/x/1', 'a/x/2', 'a/x/3', 'a/y/1', 'b/z/1', 'b/z/2', 'b/z/3', 'b/z/4'))).toEqual([
    ...['a/x/1', 'b/z/1', 'a/y/1', 'b/z/2'],
    ...['a/x/2', 'b/z/3', 'a/x/3', 'b/z/4'],
  ]);
});

test('who has used more waits until the others have used as much', () => {
  const queue = filled('a/x/1', 'a/x/2', 'b/y/1', 'b/y/2', 'b/y/3', 'b/y/4');
  expect(queue.take()).toBe('a/x/1');
  queue.charge(of('a', 'x'), 2);
  expect(emptied(queue)).toEqual(['b/y/1', 'b/y/2', 'b/y/3', 'a/x/2', 'b/y/4']);
});

test('costs that are known before count as soon as an item is taken', () => {
  const queue = new FairQueue<string>();
  for (const name of ['a1', 'a2']) queue.push(name, of('a'), 10);
  for (const name of ['b1', 'b2', 'b3']) queue.push(name, of('b'), 4);
  expect(emptied(queue)).toEqual(['a1', 'b1', 'b2', 'b3', 'a2']);
});

test('nobody saves up turns by waiting for nothing', () => {
  const queue = filled(...Array.from({ length: 50 }, (_, at) => `a/x/${at}`));
  for (let at = 0; at < 40; at++) queue.take();
  for (let at = 0; at < 3; at++) queue.push(`b/y/${at}`, of('b', 'y'));
  expect(emptied(queue).slice(0, 5)).toEqual(['b/y/0', 'a/x/40', 'b/y/1', 'a/x/41', 'b/y/2']);
});

test('work without a sender has a turn like that of a tenant', () => {
  const queue = filled('a/x/1', 'a/x/2');
  queue.push('own', undefined);
  expect(emptied(queue)).toEqual(['a/x/1', 'own', 'a/x/2']);
});

test('a tenant that is not allowed is passed over, and keeps its place', () => {
  const queue = filled('a/x/1', 'a/x/2', 'b/y/1');
  expect(queue.take((tenant) => tenant !== 'a')).toBe('b/y/1');
  expect(queue.take((tenant) => tenant !== 'a')).toBeUndefined();
  expect(queue.length).toBe(2);
  expect(emptied(queue)).toEqual(['a/x/1', 'a/x/2']);
});

test('an item that is tried again is the next of its client', () => {
  const queue = filled('a/x/1', 'a/x/2');
  const again = queue.take() ?? '';
  queue.pushFront(again, of('a', 'x'));
  expect(emptied(queue)).toEqual(['a/x/1', 'a/x/2']);
});

test('items that are taken out leave the others in order', () => {
  const queue = filled('a/x/1', 'a/x/2', 'a/y/1', 'b/z/1');
  expect(queue.takeWhere((item) => item.endsWith('1')).toSorted()).toEqual(['a/x/1', 'a/y/1', 'b/z/1']);
  expect(queue.length).toBe(1);
  expect(emptied(queue)).toEqual(['a/x/2']);
  expect(queue.take()).toBeUndefined();
});

test('thousands of clients come and go, and each still has its turn', () => {
  const queue = new FairQueue<string>();
  for (let at = 0; at < 5000; at++) {
    queue.push(`${at}`, of(`tenant ${at}`));
    if (at % 2 === 1) queue.take();
  }
  expect(new Set(emptied(queue)).size).toBe(2500);
  expect(queue.length).toBe(0);
});
