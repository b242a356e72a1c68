import { setTimeout as delayMs } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { tenantId } from '../../src/clients/caller.ts';
import { Keyring } from '../../src/keys/keyring.ts';
import { RemovedKeys } from '../../src/keys/removed-keys.ts';
import type { StateStore } from '../../src/state/state-store.ts';
import type { TokenClient } from '../../src/token/client/token-client.ts';
import { newKeyId, type KeyId } from '../../src/token/key-id.ts';
import { TokenUnavailable } from '../../src/token/token.ts';
import { certificateRow } from '../support/certificate-row.ts';
import { recordingLog } from '../support/silent-log.ts';
import { tokenWith } from '../support/token-with.ts';
import { tokenAndStore, type TokenAndStore } from '../support/token-and-store.ts';

let around: TokenAndStore;
let token: TokenClient;
let store: StateStore;
let keys: Keyring;

beforeAll(async () => {
  around = await tokenAndStore();
  ({ token, store } = around);
  keys = new Keyring(store, token);
});
afterAll(async () => {
  await around.end();
});

const request = { tenant: tenantId('demo'), type: 'P-256', protocol: 'PASSWORD', subscriber: {} } as const;
const onToken = async (...ids: KeyId[]): Promise<KeyId[]> => {
  const there = await token.findKeys(ids);
  return ids.filter((id) => there.has(id));
};

async function created(): Promise<{ readonly id: KeyId; readonly reference: string }> {
  const { reference } = await keys.create({ ...request, issue: async () => Promise.resolve({ row: certificateRow() }) });
  return { reference, id: (await keys.find(request.tenant, reference)).id };
}

/** A key that the store has in that state, and the token has all the same, as after a restore of the token. */
async function returned(state: 'REMOVED' | 'CONSUMED' | 'LEFT_BEHIND'): Promise<KeyId> {
  const { id, reference } = await created();
  await store.run('changeKeyState', { reference, from: ['ACTIVE'], to: state, destroys: false, now: Date.now() });
  return id;
}

describe('keys that were removed and are on the token', () => {
  it('are destroyed, each time they are found, and no others', async () => {
    const log = recordingLog();
    const removed = new RemovedKeys({ store, token, destruction: keys.destruction, log });
    const active = await created();
    const unknown = newKeyId('caller');
    await token.createKey(unknown, 'P-256');
    const left = await returned('LEFT_BEHIND');
    for (let time = 1; time <= 2; time += 1) {
      const back = [await returned('REMOVED'), await returned('CONSUMED')];
      expect(await onToken(...back)).toEqual(back);
      expect(await removed.look()).toBe(2);
      expect(await onToken(...back)).toEqual([]);
      for (const id of back) expect(log.lines.filter((line) => line.includes(id))).toHaveLength(1);
      expect(await removed.look()).toBe(0);
    }
    expect(await onToken(active.id, unknown, left)).toEqual([active.id, unknown, left]);
  });

  it('are destroyed later if the token does not answer, and are named until then', async () => {
    const back = await returned('REMOVED');
    let isAway = true;
    const away = new Keyring(
      store,
      tokenWith(token, { destroyKey: async () => (isAway ? Promise.reject(new TokenUnavailable('away')) : token.destroyKey(back)) }),
    );
    const removed = new RemovedKeys({ store, token, destruction: away.destruction, log: recordingLog() });
    expect(await removed.look()).toBe(1);
    expect(away.destruction.left).toMatchObject([{ id: back }]);
    expect(await store.run('journal')).toMatchObject([{ key_id: back, intent: 'DESTROY' }]);
    // It is known, and tried again.
    expect(await removed.look()).toBe(0);
    isAway = false;
    await vi.waitUntil(() => away.destruction.left.length === 0, { timeout: 30_000 });
    expect(await onToken(back)).toEqual([]);
    expect(await store.run('journal')).toEqual([]);
  });

  it('are looked for again and again while the service runs, also after the token could not be asked', async () => {
    const log = recordingLog();
    let isAway = true;
    const listKeys = async (): ReturnType<TokenClient['listKeys']> =>
      isAway ? Promise.reject(new TokenUnavailable('away')) : token.listKeys();
    const removed = new RemovedKeys({ store, token: tokenWith(token, { listKeys }), destruction: keys.destruction, log });
    const first = await returned('REMOVED');
    removed.start({ firstMs: 1, everyMs: 20 });
    try {
      await vi.waitUntil(() => log.lines.some((line) => line.includes('it is not known whether removed keys are still on the token')));
      isAway = false;
      await vi.waitUntil(async () => (await onToken(first)).length === 0);
      const second = await returned('CONSUMED');
      await vi.waitUntil(async () => (await onToken(second)).length === 0);
    } finally {
      removed.stop();
    }
    const third = await returned('REMOVED');
    await delayMs(100);
    expect(await onToken(third)).toEqual([third]);
  });
});
