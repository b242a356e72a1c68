import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runWithoutToken, type WithoutTokenContext } from '../../src/admin/stand-by-commands.ts';
import { Outbox } from '../../src/audit/outbox.ts';
import { recordingLog } from '../support/silent-log.ts';
import { StoreHere } from '../support/store-here.ts';

let directory: string;
let store: StoreHere;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'signetd-without-token-'));
  store = await StoreHere.open(join(directory, 'state.sqlite'));
});
afterAll(async () => {
  await store.close();
  rmSync(directory, { recursive: true, force: true });
});

it('a service that waits for its token has the change of a PIN recorded, which may be what it waits for, and nothing else', async () => {
  const context = (enabled: boolean): WithoutTokenContext =>
    ({
      ...{ store, configPath: '', startedAt: new Date(), log: recordingLog(), fault: () => ({ part: 'token', reason: 'no token' }) },
      config: { audit: { enabled, name: 'signetd' } },
    }) as unknown as WithoutTokenContext;
  const request = { command: 'record command', by: 'token change-pin' } as const;
  const outbox = new Outbox(store, 'signetd');
  const done = { outcome: 'done', result: null, notes: [] };
  expect([await runWithoutToken(context(false), request, 7), await outbox.settled()]).toEqual([done, []]);
  for (const times of [1, 2]) {
    expect(await runWithoutToken(context(true), request, 7)).toEqual(done);
    const settled = await outbox.settled();
    expect(settled.map(({ entry }) => entry)).toMatchObject(
      Array.from({ length: times }, () => ({ kind: 'administration', command: 'token change-pin', uid: 7 })),
    );
  }
  expect(await runWithoutToken(context(true), { command: 'client list' }, 7)).toMatchObject({ outcome: 'refused' });
});
