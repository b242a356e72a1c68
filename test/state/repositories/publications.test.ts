import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { storeOfRows } from './store-of-rows.ts';

const opened = storeOfRows();

async function due(owner: string): Promise<string> {
  const id = randomUUID();
  await opened.store.run('addPublication', { id, owner, request: `request of ${id}`, items: '[]', ends_at: 50 });
  return id;
}
const found = async (id: string): Promise<unknown> => opened.store.run('findPublication', id);
const idsDue = async (owner?: string): Promise<string[]> => (await opened.store.run('duePublications', owner)).map(({ id }) => id);

it('evidence is due for its owner, or for all, until it is published or withdrawn', async () => {
  const [one, other] = [await due('one'), await due('two')];
  expect(await opened.store.run('duePublications', 'one')).toEqual([
    { id: one, owner: 'one', request: `request of ${one}`, items: '[]', ends_at: 50 },
  ]);
  expect((await idsDue()).toSorted()).toEqual([one, other].toSorted());
  expect(await found(one)).toEqual({ state: 'DUE', renamed: null });
  await opened.store.run('endPublication', one);
  expect([await found(one), await idsDue()]).toEqual([undefined, [other]]);
  await opened.store.run('endPublication', other);
});

it('names that differ from the planned ones are kept until their end, and evidence that is due is kept however old', async () => {
  const [published, stillDue] = [await due('one'), await due('one')];
  await opened.store.run('keepPublishedNames', { id: published, renamed: '[["/a","/b"]]', endsAt: 100 });
  expect(await idsDue('one')).toEqual([stillDue]);
  expect(await found(published)).toEqual({ state: 'PUBLISHED', renamed: '[["/a","/b"]]' });
  await opened.store.run('deleteEndedPublications', 99);
  expect(await found(published)).toBeDefined();
  await opened.store.run('deleteEndedPublications', 100);
  expect([await found(published), await found(stillDue)]).toEqual([undefined, { state: 'DUE', renamed: null }]);
});
