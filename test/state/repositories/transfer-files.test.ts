import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { storeOfRows } from './store-of-rows.ts';

const opened = storeOfRows();
const quota = { bytes: 1000, files: 3 };
const now = 1_000_000;

/** A tenant of a test, with its files. */
class Tenant {
  readonly name = randomUUID();

  /** Begins a file. Returns its identifier; undefined if there is no room for it. */
  async begin(bytes: number, changes: { readonly owner?: string; readonly endsAt?: number } = {}): Promise<string | undefined> {
    const id = randomUUID();
    const { owner = 'one', endsAt = now + 60 } = changes;
    const file = { id, tenant: this.name, owner, bytes, media_type: 'text/plain', file_name: null, ends_at: endsAt, quota };
    return (await opened.store.run('beginTransfer', file)) ? id : undefined;
  }

  async begun(bytes: number, changes: { readonly owner?: string; readonly endsAt?: number } = {}): Promise<string> {
    const id = await this.begin(bytes, changes);
    if (id === undefined) throw new Error('there is no room');
    return id;
  }

  async stored(bytes: number, endsAt = now + 60): Promise<string> {
    const id = await this.begun(bytes);
    await opened.store.run('storeTransfer', { id, bytes, sha256: 'aa', ends_at: endsAt });
    return id;
  }

  async staged(bytes: number, endsAt = now + 60): Promise<string> {
    const id = await this.begun(bytes);
    await opened.store.run('stageTransfer', { id, bytes, sha256: 'bb', ends_at: endsAt });
    return id;
  }

  async grow(id: string, by: number): Promise<boolean> {
    return opened.store.run('growTransfer', { id, by, quota });
  }

  async finds(id: string, at = now, tenant: string = this.name): Promise<boolean> {
    return (await opened.store.run('findTransfer', { id, tenant, now: at })) !== undefined;
  }

  get share(): unknown {
    return opened.rows('select bytes, files from transfer_shares where tenant = ?', this.name)[0];
  }

  get files(): unknown {
    return opened.rows('select bytes, state, ends_at, sha256 from transfer_files where tenant = ? order by rowid', this.name);
  }
}

const ended = async (at: number, limit = 100): Promise<readonly string[]> => opened.store.run('endedTransfers', { now: at, limit });

describe('the share of a tenant', () => {
  it('is taken up to the last byte and the last file, and by nobody else', async () => {
    const tenant = new Tenant();
    expect(await tenant.begin(1001)).toBeUndefined();
    expect([tenant.share, tenant.files]).toEqual([{ bytes: 0, files: 0 }, []]);
    await tenant.begun(999);
    expect(await tenant.begin(2)).toBeUndefined();
    await tenant.begun(1);
    await tenant.begun(0);
    expect(await tenant.begin(0)).toBeUndefined();
    expect(tenant.share).toEqual({ bytes: 1000, files: 3 });
    expect(await new Tenant().begin(1000)).toBeDefined();
  });

  it('is taken by a file that grows while it arrives, which is no further file', async () => {
    const tenant = new Tenant();
    const id = await tenant.begun(400);
    await tenant.begun(0);
    await tenant.begun(0);
    expect(await tenant.grow(id, 601)).toBe(false);
    expect(await tenant.grow(id, 600)).toBe(true);
    expect(await tenant.grow(id, 1)).toBe(false);
    expect(tenant.share).toEqual({ bytes: 1000, files: 3 });
    expect(await tenant.grow(randomUUID(), 0)).toBe(false);
  });

  it('is taken for nothing that no longer arrives', async () => {
    const tenant = new Tenant();
    for (const id of [await tenant.stored(10), await tenant.staged(10)]) expect(await tenant.grow(id, 1)).toBe(false);
    expect(tenant.share).toEqual({ bytes: 20, files: 2 });
  });

  it.each(['storeTransfer', 'stageTransfer'] as const)('gets back with %s what was reserved beyond the size', async (operation) => {
    const tenant = new Tenant();
    for (let upload = 0; upload < 3; upload += 1) {
      const id = await tenant.begun(0);
      expect(await tenant.grow(id, 900)).toBe(true);
      await opened.store.run(operation, { id, bytes: 10, sha256: 'aa', ends_at: now });
    }
    expect(tenant.share).toEqual({ bytes: 30, files: 3 });
  });

  it('gets back a file with its row, once, and none that can still be fetched or published', async () => {
    const tenant = new Tenant();
    const [arriving, stored] = [await tenant.begun(100), await tenant.stored(20)];
    const staged = await tenant.staged(3);
    for (const id of [arriving, arriving, stored, staged, randomUUID()]) await opened.store.run('forgetTransfer', id);
    expect(tenant.share).toEqual({ bytes: 23, files: 2 });
    await opened.store.run('endTransfer', { id: stored, tenant: tenant.name, now });
    await opened.store.run('withdrawTransfer', staged);
    expect(tenant.share).toEqual({ bytes: 23, files: 2 });
    for (const id of [stored, staged]) await opened.store.run('forgetTransfer', id);
    expect([tenant.share, tenant.files]).toEqual([{ bytes: 0, files: 0 }, []]);
  });
});

describe('a file', () => {
  it('can be fetched by its tenant once it is stored, up to its end and not longer, whether it is swept or not', async () => {
    const tenant = new Tenant();
    const arriving = await tenant.begun(10);
    expect(await tenant.finds(arriving)).toBe(false);
    const id = await tenant.stored(10, now + 5);
    expect(await tenant.finds(id, now + 4)).toBe(true);
    expect(await tenant.finds(id, now + 5)).toBe(false);
    expect(await tenant.finds(id, now, 'other')).toBe(false);
    expect(await opened.store.run('endTransfer', { id, tenant: tenant.name, now: now + 5 })).toBe(false);
    expect(await opened.store.run('endTransfer', { id, tenant: 'other', now })).toBe(false);
    expect(await opened.store.run('endTransfer', { id, tenant: tenant.name, now: now + 4 })).toBe(true);
    expect(await opened.store.run('endTransfer', { id, tenant: tenant.name, now: now + 4 })).toBe(false);
    expect(await tenant.finds(id)).toBe(false);
  });

  it('that was given up is not stored', async () => {
    const tenant = new Tenant();
    const id = await tenant.begun(10);
    await opened.store.run('endTransfersOf', undefined);
    const whole = { id, bytes: 5, sha256: 'aa', ends_at: now + 60 };
    for (const operation of ['storeTransfer', 'stageTransfer'] as const)
      await expect(opened.store.run(operation, whole)).rejects.toMatchObject({ code: 'TRANSFER_ENDED' });
    expect([tenant.share, tenant.files]).toEqual([
      { bytes: 10, files: 1 },
      [{ bytes: 10, state: 'ENDED', ends_at: now + 60, sha256: null }],
    ]);
  });

  it('of evidence can be fetched once it is published, for as long as it then says, and is published once', async () => {
    const tenant = new Tenant();
    const id = await tenant.staged(10, now + 1);
    expect(await tenant.finds(id)).toBe(false);
    await opened.store.run('publishTransfer', { id, endsAt: now + 9 });
    expect(await tenant.finds(id, now + 8)).toBe(true);
    await opened.store.run('publishTransfer', { id, endsAt: now + 99 });
    expect(await tenant.finds(id, now + 9)).toBe(false);
    await opened.store.run('withdrawTransfer', id);
    expect(await tenant.finds(id)).toBe(true);
    const withdrawn = await tenant.staged(10);
    await opened.store.run('withdrawTransfer', withdrawn);
    await opened.store.run('publishTransfer', { id: withdrawn, endsAt: now + 9 });
    expect(await tenant.finds(withdrawn)).toBe(false);
  });

  it('that arrives is renewed if it is named, and no other', async () => {
    const tenant = new Tenant();
    const ids = [await tenant.begun(1), await tenant.stored(1)];
    await tenant.begun(1);
    for (const id of ids) await opened.store.run('renewTransfers', { ids: [id], until: now + 400 });
    expect(tenant.files).toMatchObject([{ ends_at: now + 400 }, { ends_at: now + 60 }, { ends_at: now + 60 }]);
    await opened.store.run('renewTransfers', { ids, until: now + 500 });
    await opened.store.run('renewTransfers', { ids: [], until: now + 900 });
    expect(tenant.files).toMatchObject([{ ends_at: now + 500 }, { ends_at: now + 60 }, { ends_at: now + 60 }]);
  });

  it('that arrives ends with its owner', async () => {
    const tenant = new Tenant();
    await tenant.begun(1, { owner: 'two' });
    await tenant.begun(1, { owner: 'one' });
    await tenant.stored(1);
    const states = (): unknown => opened.rows('select state from transfer_files where tenant = ? order by rowid', tenant.name);
    await opened.store.run('endTransfersOf', 'two');
    expect(states()).toEqual([{ state: 'ENDED' }, { state: 'ARRIVING' }, { state: 'STORED' }]);
    await opened.store.run('endTransfersOf', undefined);
    expect(states()).toEqual([{ state: 'ENDED' }, { state: 'ENDED' }, { state: 'STORED' }]);
  });
});

it('what is to be removed is what has ended: stored or arriving past its time, but no evidence that is yet to be published', async () => {
  for (const id of await ended(Number.MAX_SAFE_INTEGER)) await opened.store.run('forgetTransfer', id);
  const tenant = new Tenant();
  const stored = await tenant.stored(1, now + 5);
  const arriving = await tenant.begun(1, { endsAt: now + 6 });
  await tenant.staged(1, now + 1);
  expect(await ended(now + 4)).toEqual([]);
  expect(await tenant.finds(stored)).toBe(true);
  expect(await ended(now + 5)).toEqual([stored]);
  expect(await tenant.finds(stored)).toBe(false);
  expect(await ended(now + 6, 1)).toHaveLength(1);
  expect((await ended(now + 9)).toSorted()).toEqual([stored, arriving].toSorted());
  const ids = [stored, arriving, randomUUID()];
  expect((await opened.store.run('knownTransfers', ids)).toSorted()).toEqual([stored, arriving].toSorted());
  expect(await opened.store.run('knownTransfers', [])).toEqual([]);
});
