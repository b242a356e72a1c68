import { describe, expect, it } from 'vitest';
import { KeyDirectory, type KeyChange } from '../../src/token/host/key-directory.ts';
import { newKeyId, type KeyId } from '../../src/token/key-id.ts';

const [id, other] = [newKeyId('general'), newKeyId('general')];
const [handle, next] = [Buffer.of(1), Buffer.of(2)];
const all = { after: undefined, limit: 10 };

/** The directory of one thread, with what it tells the others and what it destroys. */
function directoryOf(known: ReadonlyMap<KeyId, Buffer> = new Map()): {
  readonly keys: KeyDirectory;
  readonly told: KeyChange[];
  readonly destroyed: [KeyId, Buffer][];
} {
  const told: KeyChange[] = [];
  const destroyed: [KeyId, Buffer][] = [];
  const keys = new KeyDirectory(
    (change) => told.push(change),
    (gone, at) => destroyed.push([gone, at]),
  );
  keys.changed({ kind: 'listed', keys: structuredClone(known), isComplete: known.size > 0 });
  return { keys, told, destroyed };
}

describe('what a thread knows of the keys', () => {
  it('begins with what the first thread found, and takes handles over as buffers', () => {
    const { keys, told } = directoryOf(new Map([[id, handle]]));
    expect(keys.get(id)).toEqual(handle);
    expect(keys.get(other)).toBeUndefined();
    keys.changed({ kind: 'added', id: other, handle: structuredClone(next) });
    expect([keys.get(other), Buffer.isBuffer(keys.get(other))]).toEqual([next, true]);
    expect(keys.page(all)).toEqual([id, other].toSorted());
    expect(told).toEqual([]);
  });

  it('is told to the others where it made a key or found one', () => {
    const { keys, told, destroyed } = directoryOf();
    keys.made(id, handle);
    keys.found(other, next);
    expect([keys.get(id), keys.get(other)]).toEqual([handle, next]);
    expect(told).toEqual([
      { kind: 'added', id, handle },
      { kind: 'added', id: other, handle: next },
    ]);
    expect(destroyed).toEqual([]);
  });

  it('ends before this thread destroys the key, and the others hear of it afterwards', () => {
    const { keys, told } = directoryOf(new Map([[id, handle]]));
    expect(keys.isRemoved(id)).toBe(false);
    keys.remove(id);
    expect([keys.get(id), keys.isRemoved(id), keys.page(all)]).toEqual([undefined, true, []]);
    expect(told).toEqual([]);
    keys.tellRemoved(id);
    expect(told).toEqual([{ kind: 'removed', id }]);
  });

  it('ends if another thread destroyed the key, and does not begin again, whoever still finds it', () => {
    const { keys, told, destroyed } = directoryOf(new Map([[id, handle]]));
    keys.changed({ kind: 'removed', id });
    keys.found(id, next);
    expect([keys.get(id), keys.isRemoved(id), keys.page(all)]).toEqual([undefined, true, []]);
    keys.changed({ kind: 'added', id, handle });
    expect(keys.get(id)).toBeUndefined();
    // It was there before that thread looked for it, so that it is destroyed already.
    expect(destroyed).toEqual([]);
    expect(told).toEqual([]);
  });

  it('is complete once all keys of the token were read, of which a newer handle and a removed key are left out', () => {
    const { keys, told } = directoryOf();
    keys.found(id, next);
    keys.remove(other);
    told.length = 0;
    keys.listed(new Map([[id, handle]]), false);
    expect([keys.get(id), keys.isListed]).toEqual([next, false]);
    const last = new Map([[other, handle]]);
    keys.listed(last, true);
    expect([keys.get(other), keys.isListed]).toEqual([undefined, true]);
    expect(told).toEqual([
      { kind: 'listed', keys: new Map([[id, handle]]), isComplete: false },
      { kind: 'listed', keys: last, isComplete: true },
    ]);
  });

  it('is read in pages, in the order of the identifiers', () => {
    const made = Array.from({ length: 7 }, () => newKeyId('caller')).toSorted();
    const { keys } = directoryOf(new Map(made.toReversed().map((key) => [key, handle])));
    const pages = [undefined, made[2], made[5], made[6]].map((after) => keys.page({ after, limit: 3 }));
    expect(pages).toEqual([made.slice(0, 3), made.slice(3, 6), made.slice(6), []]);
  });

  it('does not begin with a key that this thread destroyed before its maker was ready', () => {
    const { keys } = directoryOf();
    keys.remove(id);
    keys.changed({ kind: 'added', id, handle });
    expect(keys.get(id)).toBeUndefined();
  });

  it('has a key that this thread made too late destroyed, once', () => {
    const { keys, destroyed } = directoryOf();
    keys.made(id, handle);
    keys.changed({ kind: 'removed', id });
    keys.changed({ kind: 'removed', id });
    expect(destroyed).toEqual([[id, handle]]);
    expect(keys.get(id)).toBeUndefined();
  });

  it('has no key destroyed that another thread made, nor one that it does not know', () => {
    const { keys, destroyed } = directoryOf();
    keys.found(id, handle);
    keys.changed({ kind: 'removed', id });
    keys.changed({ kind: 'removed', id: other });
    expect(destroyed).toEqual([]);
  });

  it('remembers the last 10,000 removed keys', () => {
    const { keys } = directoryOf();
    const ids = Array.from({ length: 10_001 }, () => newKeyId('caller'));
    const [first = id, second = id] = ids;
    for (const each of ids.slice(0, 10_000)) keys.remove(each);
    expect(keys.isRemoved(first)).toBe(true);
    keys.remove(ids[10_000] ?? id);
    expect([first, second, ids[10_000] ?? id].map((each) => keys.isRemoved(each))).toEqual([false, true, true]);
  });
});
