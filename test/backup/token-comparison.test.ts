import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compareWithToken } from '../../src/backup/token-comparison.ts';
import { parseConfig, type Config } from '../../src/config/config.ts';
import { macKeyId, newKeyId, type KeyId } from '../../src/token/key-id.ts';
import type { ObjectReport } from '../../src/token/wire/reports.ts';
import { storedKey } from '../state/rows.ts';
import { StoreHere } from '../support/store-here.ts';
import { configurationText } from './made-backup.ts';

const authority = `49${'0'.repeat(32)}`;
const stored = newKeyId('caller');
const used = newKeyId('caller');
const begun = newKeyId('caller');
let directory: string;
let config: Config;
let reference: string;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'signetd-comparison-'));
  const store = await StoreHere.open(join(directory, 'state.sqlite'));
  reference = await storedKey(store, { key_id: stored });
  await storedKey(store, { key_id: used, state: 'CONSUMED' });
  await store.run('announce', { key_id: begun, intent: 'CREATE', created_at: Date.now() });
  await store.close();
  config = parseConfig('/etc/signetd/signetd.yaml', configurationText({ state: directory }));
});
afterAll(() => {
  rmSync(directory, { recursive: true });
});

const object = (id: string, kind = 'private key'): ObjectReport => ({
  ...{ kind, owner: 'service', id, label: '', type: 'P-256', sensitive: true, extractable: false, sign: true },
});

describe('the keys of state and token', () => {
  it('are the same: keys that are used up, or are being made, may be there or not', async () => {
    expect(await compareWithToken(config, [object(stored), object(authority)])).toEqual({ matching: 2, orphans: [], gaps: [] });
    const all = [stored, authority, used, begun].map((id) => object(id));
    expect(await compareWithToken(config, all)).toEqual({ matching: 4, orphans: [], gaps: [] });
  });

  it('are needed where state or configuration name them; a public key is none', async () => {
    const { matching, gaps } = await compareWithToken(config, [object(stored, 'public key')]);
    expect(matching).toBe(0);
    expect(new Map(gaps.map(({ id, what, isNeeded }) => [id, [what, isNeeded]]))).toEqual(
      new Map([
        [stored, [`key ${reference} of tenant demo`, true]],
        [authority, ['the key of the certificate authority issuing', true]],
      ]),
    );
  });

  it.each<[KeyId, RegExp]>([
    [newKeyId('caller'), /^a caller's key or a key made ahead/],
    [newKeyId('identity'), /^the key of a 2D-Doc identity/],
    [newKeyId('root'), /^a key of an authority that the configuration does not name/],
    [newKeyId('authority'), /^a key of an authority/],
    [newKeyId('timeStamps'), /^a key of an authority/],
    [newKeyId('audit'), /^a service key/],
    [newKeyId('ocsp'), /^a service key/],
  ])('are on the token alone: %s', async (id, what) => {
    const { orphans, gaps } = await compareWithToken(config, [object(stored), object(authority), object(id)]);
    expect([orphans.map((one) => [one.id, one.isNeeded]), gaps]).toEqual([[[id, false]], []]);
    expect(orphans[0]?.what).toMatch(what);
    expect(orphans[0]?.advice).not.toBe('');
  });

  it('are a MAC key that no secret was made with yet', async () => {
    const found = await compareWithToken(config, [object(stored), object(authority), object(macKeyId, 'secret key')]);
    expect(found).toEqual({ matching: 3, orphans: [], gaps: [] });
  });
});
