import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tenantId } from '../../src/clients/caller.ts';
import { KeyCache } from '../../src/keys/key-cache.ts';
import { parseKeyReferenceId, type KeyReferenceId } from '../../src/keys/key-record.ts';
import { StretchedPasswords } from '../../src/keys/stretching.ts';
import { KnownSecrets } from '../../src/keys/known-secrets.ts';
import { newKeyId } from '../../src/token/key-id.ts';
import { keyRows } from '../state/rows.ts';
import { certificateRow } from '../support/certificate-row.ts';
import { repetitions } from '../support/repetitions.ts';
import { asShared } from '../support/shared-store.ts';
import { StoreHere } from '../support/store-here.ts';
import { TellingStore } from '../support/telling-store.ts';

const [demo, other] = [tenantId('demo'), tenantId('other')];
/** These tests look at what is current: every row is believed. */
const seals = { keyFault: async () => Promise.resolve(undefined), checkChain: () => undefined };
const parts = { seals, slots: { isBusy: () => false }, known: { forget: () => undefined } };
const directory = mkdtempSync(join(tmpdir(), 'signetd-at-once-'));

let store: TellingStore;

beforeAll(async () => {
  store = new TellingStore(await StoreHere.open(join(directory, 'state.sqlite')));
});

afterAll(async () => {
  await store.close();
  rmSync(directory, { recursive: true });
});

async function newKey(): Promise<KeyReferenceId> {
  const certificate = certificateRow();
  const { key } = keyRows({ reference: certificate.sha1 });
  await store.run('announce', { key_id: key.key_id, intent: 'CREATE', created_at: 1 });
  await store.run('insertKey', { key, certificate });
  return parseKeyReferenceId(certificate.sha1);
}

const states = ['ACTIVE', 'ON_HOLD', 'REVOKED'] as const;
const event = fc.record({
  key: fc.nat(2),
  kind: fc.constantFrom('find', 'change', 'told of all', 'pressed out'),
  to: fc.constantFrom(...states),
});

describe('keys in memory', () => {
  it('are found at once only as they are found on the general way, and only for their tenant', async () => {
    const keys = [await newKey(), await newKey(), await newKey()];
    let found = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(event, { maxLength: 20 }), fc.boolean(), async (events, isSmall) => {
        const cache = new KeyCache(store, parts, isSmall ? 1 : undefined);
        for (const { key, kind, to } of events) {
          const reference = keys[key] ?? parseKeyReferenceId('0'.repeat(40));
          if (kind === 'change') {
            await store.run('changeKeyState', { reference, from: [...states], to, destroys: false, now: 1 });
            store.tell({ table: 'keys', id: reference });
          }
          if (kind === 'told of all') store.tell('everything');
          if (kind === 'find') await cache.find(demo, reference);
          if (kind === 'pressed out' && isSmall) for (const one of keys) if (one !== reference) await cache.find(demo, one);
          const record = cache.findAtOnce(demo, reference);
          expect(cache.findAtOnce(other, reference)).toBeUndefined();
          if (record === undefined) continue;
          found += 1;
          expect(record.state).toBe((await store.run('findKey', reference))?.state);
          expect(await cache.find(demo, reference)).toBe(record);
        }
      }),
      { numRuns: repetitions(500, 100) },
    );
    expect(found).toBeGreaterThan(50);
  });

  it('are not found at once where other instances may have changed them', async () => {
    const reference = await newKey();
    const cache = new KeyCache(asShared(store), parts);
    const record = await cache.find(demo, reference);
    expect([cache.findAtOnce(demo, reference), cache.isUpToDate(record)]).toEqual([undefined, false]);
  });
});

describe('a stretched password', () => {
  it('is at hand only for the secret and the salt that it was stretched with', () => {
    const known = new KnownSecrets();
    const marks = Array.from({ length: 3 }, (_, index) =>
      known.markOf(newKeyId('caller'), { member: 'password', bytes: Buffer.from(`password ${index}`), transactionId: undefined }),
    );
    const salts = [Buffer.alloc(16, 1), Buffer.alloc(16, 2)];
    const kept = fc.record({
      mark: fc.constantFrom(...marks),
      salt: fc.constantFrom(...salts),
      value: fc.uint8Array({ minLength: 32, maxLength: 32 }),
    });
    fc.assert(
      fc.property(fc.array(kept, { maxLength: 6 }), (all) => {
        const stretched = new StretchedPasswords();
        for (const { mark, salt, value } of all) stretched.keep(mark, salt, value);
        for (const mark of marks) {
          const last = all.findLast((one) => one.mark === mark);
          for (const salt of salts) expect(stretched.kept(mark, salt)).toBe(last?.salt === salt ? last.value : undefined);
        }
      }),
    );
  });
});
