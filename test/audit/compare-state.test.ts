import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { confirmState } from '../../src/admin/state-commands.ts';
import { auditSteps } from '../../src/audit/audited-request.ts';
import type { AuditLog } from '../../src/audit/audit-log.ts';
import { compareState, type StateComparison } from '../../src/audit/compare-state.ts';
import { Outbox } from '../../src/audit/outbox.ts';
import type { StateStore } from '../../src/state/state-store.ts';
import { deciding, step } from '../../src/state/step.ts';
import { StoreHere } from '../support/store-here.ts';
import { ScratchLog } from './scratch-log.ts';

let directory: string;
let log: ScratchLog;
let store: StateStore;
let copies = 0;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'signetd-compare-'));
  log = new ScratchLog();
  store = await StoreHere.open(join(directory, 'state.sqlite'));
});

afterEach(async () => {
  await store.close();
  log.remove();
  rmSync(directory, { recursive: true });
});

async function open(name = 'signetd'): Promise<AuditLog> {
  // The key is in the store before it signs.
  const [known] = await store.run('auditKeys');
  if (known === undefined) await takeKey(store, log.signer.publicKey);
  const memory = {
    async head() {
      const row = await store.run('auditHead', name);
      return row === undefined ? undefined : { n: row.records, hash: row.hash, file: row.file };
    },
    keepHead: async ({ n, hash, file }: { n: number; hash: string; file: number }) =>
      store.run('keepAuditHead', { log: name, records: n, hash, file }),
  };
  return log.open({ name, memory, outbox: new Outbox(store, name), rotateBytes: 4096 });
}

async function takeKey(into: StateStore, publicKey: Uint8Array): Promise<void> {
  await into.run('announce', { key_id: 'a1', intent: 'CREATE', created_at: 1 });
  await into.run('takeAuditKey', { key_id: 'a1', public_key: publicKey, created_at: 1, replaces: undefined, succession: null });
}

/** A request that changes something, from its commit to its record. */
async function request(audit: AuditLog, commit: (request: string) => Promise<unknown> = change): Promise<void> {
  const id = randomUUID();
  const requester = {
    request: id,
    client: 'app',
    tenant: 'demo',
    spki: '0123456789abcdef',
    address: undefined,
    operation: 'pki/removeKey',
  };
  const audited = audit.begin(requester);
  await audit.carryOut(audited, async () => commit(id)).catch(() => undefined);
  await audit.finish(audited, { major: 0, minor: 0 });
}

const change = async (id: string): Promise<unknown> =>
  store.commit([
    step('announce', { key_id: id, intent: 'DESTROY', created_at: 1 }),
    ...auditSteps('the key is out of use', { kind: 'key end', state: 'REMOVED' }),
  ]);

/** What a copy of the database that was made in the middle of everything holds. */
function copy(): string {
  copies += 1;
  const path = join(directory, `copy-${copies}.sqlite`);
  const database = new DatabaseSync(join(directory, 'state.sqlite'), { timeout: 10_000 });
  database.exec(`VACUUM INTO '${path}'`);
  database.close();
  return path;
}

async function compared(path?: string, name = 'signetd'): Promise<StateComparison> {
  const place = { directory: log.directory, name };
  if (path === undefined) return compareState(store, place);
  const restored = await StoreHere.open(path);
  try {
    return await compareState(restored, place);
  } finally {
    await restored.close();
  }
}

describe('a copy of the state store', () => {
  it('is older by exactly what was recorded after it, within one interval of checkpoints and over several files', async () => {
    const audit = await open();
    const taken: string[] = [copy()];
    for (let number = 0; number < 16; number += 1) {
      await request(audit);
      taken.push(copy());
      // Some of what is recorded leaves the outbox meanwhile, as it does each second.
      if (number % 7 === 3)
        await expect.poll(async () => (await store.run('listAuditRecords', { limit: 10 })).length, { timeout: 5000 }).toBe(0);
    }
    for (const [known, path] of taken.entries()) {
      const { isOlder, lacking } = await compared(path);
      expect([known, isOlder, lacking.length]).toEqual([known, known < 16, 16 - known]);
    }
    await audit.stop();
    expect(await compared()).toMatchObject({ isOlder: false, lacking: [] });
    expect((await compared(taken[16])).lacking).toEqual([]);
  }, 180_000);

  it('from before a start and a stop is older although nothing was changed since', async () => {
    await (await open()).stop();
    const before = copy();
    const audit = await open();
    const running = copy();
    await audit.stop();
    expect(await compared(before)).toMatchObject({ isOlder: true, lacking: [] });
    expect(await compared(running)).toMatchObject({ isOlder: true, lacking: [] });
    expect(await compared()).toMatchObject({ isOlder: false });
  });

  it('is not older where a record is missing, for the outbox has what the log lacks', async () => {
    const audit = await open();
    await request(audit);
    // The commit of a request whose record a crash prevents.
    await audit.carryOut(
      audit.begin({ request: 'lost', client: 'app', tenant: 'demo', spki: '', address: undefined, operation: 'pki/removeKey' }),
      async () => change('lost'),
    );
    expect(await compared()).toMatchObject({ isOlder: false, lacking: [] });
    await audit.stop();
    const next = await open();
    const before = copy();
    await request(next);
    expect((await compared(before)).lacking).toHaveLength(1);
    await next.stop();
    expect(readFileSync(join(log.directory, 'audit-00000001.jsonl'), 'utf8')).toContain('"replayed":"the key is out of use"');
    expect((await compared(before)).lacking).toHaveLength(1);
    expect(await compared()).toMatchObject({ isOlder: false });
  });
});

describe('a record', () => {
  it('tells of no commit that failed, nor of a step that was not done', async () => {
    const audit = await open();
    await request(audit, async (id) => {
      const steps = [step('announce', { key_id: id, intent: 'DESTROY' as const, created_at: 1 }), ...auditSteps('twice')];
      await store.commit([...steps, ...steps]);
    });
    await request(audit, async () =>
      store.commit([deciding(step('revokeClient', { spkiSha256: 'nobody', now: 1 })), ...auditSteps('decided against')]),
    );
    await request(audit, async (id) => change(id));
    expect(await compared()).toMatchObject({ isOlder: false });
    await audit.stop();
    const text = readFileSync(join(log.directory, 'audit-00000001.jsonl'), 'utf8');
    expect(text).not.toContain('twice');
    expect(text).not.toContain('decided against');
    expect(text).toContain('"effects":[{"effect":"the key is out of use","change":{"kind":"key end","state":"REMOVED"}}]');
  });
});

describe('a state store of another kind', () => {
  it('that is new is older than a log that was written, and not older than one that a crash cut short at the first start', async () => {
    const fresh = join(directory, 'fresh.sqlite');
    expect(await compared(fresh)).toMatchObject({ isOlder: false, last: 0 });
    const audit = await open();
    await store.run('replaceAuditHead', { log: 'elsewhere', records: 3, hash: 'f'.repeat(64), file: 1 });
    expect(await compared()).toMatchObject({ isOlder: false });
    expect(await compared(fresh)).toMatchObject({ isOlder: true, isForeign: true, known: 0 });
    await request(audit);
    expect(await compared(fresh)).toMatchObject({ isOlder: true, known: 0 });
    await audit.stop();
    expect((await compared(fresh)).lacking).toHaveLength(1);
  });

  it('says which records it could not be compared with, their files being archived', async () => {
    const audit = await open();
    const before = copy();
    for (let number = 0; number < 40; number += 1) await request(audit);
    await audit.stop();
    rmSync(join(log.directory, 'audit-00000001.jsonl'));
    const { isOlder, known, absent, lacking, last } = await compared(before);
    expect(isOlder).toBe(true);
    expect(absent?.from).toBe(known + 1);
    expect(lacking.length).toBeGreaterThan(0);
    expect(lacking[0]?.record).toBeGreaterThan(absent?.to ?? Infinity);
    expect(last).toBeGreaterThan(40);
  });

  it('is compared with the records under every name that the log had', async () => {
    const early = await open();
    const atFirst = copy();
    await request(early);
    await early.stop();
    const renamed = await open('renamed');
    expect(await compared(undefined, 'renamed')).toMatchObject({ isOlder: false });
    const before = copy();
    await request(renamed);
    expect((await compared(before, 'renamed')).lacking).toHaveLength(1);
    expect((await compared(atFirst, 'renamed')).lacking).toHaveLength(2);
    await renamed.stop();
    // A third name, under which nothing has been written.
    for (const name of ['signetd', 'renamed', 'third']) {
      expect([name, (await compared(undefined, name)).isOlder]).toEqual([name, false]);
      const empty = await compared(join(directory, `empty-${name}.sqlite`), name);
      expect([name, empty.isOlder, empty.isForeign, empty.known, empty.lacking.length]).toEqual([name, true, true, 0, 2]);
      expect(await compared(atFirst, name)).toMatchObject({ isOlder: true, names: ['signetd', 'renamed'] });
    }
  }, 60_000);

  it('that other instances fill is older than the log of one that it has never seen, be the names alike', async () => {
    const audit = await open();
    await request(audit);
    await audit.stop();
    const shared = await StoreHere.open(join(directory, 'shared.sqlite'));
    try {
      await takeKey(shared, new Uint8Array([1]));
      // Its place is that of another log, before the end of this one or after it.
      for (const records of [1, 3, 5000]) {
        for (const name of ['signetd', 'b']) {
          await shared.run('replaceAuditHead', { log: name, records, hash: 'e'.repeat(64), file: 1 });
        }
        for (const name of ['signetd', 'b', 'c']) {
          const comparison = await compareState(shared, { directory: log.directory, name });
          expect([records, name, comparison.isOlder]).toEqual([records, name, true]);
        }
      }
    } finally {
      await shared.close();
    }
  });

  it('is confirmed once for each new store, under whatever name', async () => {
    const audit = await open();
    await request(audit);
    await audit.stop();
    const entry = { kind: 'administration', request: 'r', uid: 0, command: 'state confirm' } as const;
    for (const [round, name] of ['signetd', 'second', 'third'].entries()) {
      const next = await StoreHere.open(join(directory, `next-${round}.sqlite`));
      const place = { directory: log.directory, name };
      try {
        // A name that an instance elsewhere has in the same store.
        await next.run('replaceAuditHead', { log: name, records: 9999, hash: 'e'.repeat(64), file: 7 });
        expect(await compareState(next, place)).toMatchObject({ isOlder: true });
        await confirmState(next, { audit: place, certificateAuthorities: {} }, { ...entry, request: randomUUID() });
        for (const after of ['signetd', 'second', 'third', 'fourth']) {
          expect([name, after, (await compareState(next, { ...place, name: after })).isOlder]).toEqual([name, after, false]);
        }
        await expect(confirmState(next, { audit: place, certificateAuthorities: {} }, { ...entry, request: randomUUID() })).rejects.toThrow(
          'is not older',
        );
      } finally {
        await next.close();
      }
    }
  });

  it('is compared while the log is written', async () => {
    const audit = await open();
    const empty = await StoreHere.open(join(directory, 'empty.sqlite'));
    const other = { isWriting: true };
    const writing = (async () => {
      for (let number = 0; number < 150; number += 1) await request(audit);
      other.isWriting = false;
    })();
    try {
      while (other.isWriting) {
        for (const name of ['signetd', 'another']) {
          expect(await compareState(store, { directory: log.directory, name })).toMatchObject({ isOlder: false, lacking: [] });
          expect(await compareState(empty, { directory: log.directory, name })).toMatchObject({ isOlder: true });
        }
      }
    } finally {
      await writing;
      await audit.stop();
      await empty.close();
    }
  }, 60_000);
});

describe('a log of an earlier version', () => {
  /** As a version wrote it that did not say what a request changed, nor what the store had named. */
  function forget(): void {
    const path = join(log.directory, 'audit-00000001.jsonl');
    const text = readFileSync(path, 'utf8')
      .replaceAll(/,"effects":\[\{.*?\}\]/g, '')
      .replaceAll(/,"kept":\d+/g, '');
    writeFileSync(path, text);
  }

  it('does not prevent readiness, and states how many requests are unknown', async () => {
    const audit = await open();
    const before = copy();
    await request(audit);
    await audit.stop();
    forget();
    expect(await compared()).toMatchObject({ isOlder: false, untold: 0 });
    expect(await compared(before)).toMatchObject({ isOlder: false, untold: 1, lacking: [] });
    expect(await compared(join(directory, 'new.sqlite'))).toMatchObject({ isOlder: true, untold: 1 });
  });
});
