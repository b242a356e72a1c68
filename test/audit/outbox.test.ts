import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { Outbox } from '../../src/audit/outbox.ts';
import { openStateStore } from '../../src/state/threaded-store.ts';
import type { Step, StepResults } from '../../src/state/step.ts';
import { recordingLog } from '../support/silent-log.ts';
import { StoreAround } from '../support/store-around.ts';

const directory = mkdtempSync(join(tmpdir(), 'signetd-outbox-'));
afterEach(() => {
  rmSync(directory, { recursive: true });
});

/** A state store whose deletions are answered one after the other, when the test says so. */
class SlowStore extends StoreAround {
  readonly waiting: PromiseWithResolvers<void>[] = [];

  async commit<const S extends readonly Step[]>(steps: S): Promise<StepResults<S>> {
    const results = await this.store.commit(steps);
    if (!steps.some(({ name }) => name === 'deleteAuditRecords')) return results;
    const answer = Promise.withResolvers<void>();
    this.waiting.push(answer);
    await answer.promise;
    return results;
  }
}

test('a sweep that begins while the previous one waits for the store loses no record that is completed meanwhile', async () => {
  const store = new SlowStore(await openStateStore({ kind: 'sqlite', path: join(directory, 'state.sqlite') }, recordingLog()));
  const [early, late] = ['signetd:early:0', 'signetd:late:0'] as const;
  for (const id of [early, late]) await store.run('addAuditRecord', { id, created_at: 1, record: '{}' });
  const outbox = new Outbox(store, 'signetd');
  outbox.done([early], { n: 1, hash: 'a', file: 1 });
  const sweeps = [outbox.sweep(), outbox.sweep()];
  await expect.poll(() => store.waiting.length).toBeGreaterThan(0);
  // Time for the second one to ask the store as well, if it does.
  await store.answer();
  store.waiting.shift()?.resolve();
  await sweeps[0];
  outbox.done([late], { n: 2, hash: 'b', file: 1 });
  for (const answer of store.waiting.splice(0)) answer.resolve();
  await sweeps[1];
  const last = outbox.sweep();
  await expect.poll(async () => (await outbox.settled()).length).toBe(0);
  for (const answer of store.waiting.splice(0)) answer.resolve();
  await last;
  expect(await outbox.settled()).toEqual([]);
  await store.close();
});
