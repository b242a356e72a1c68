import { expect, it } from 'vitest';
import { Reloader } from '../../src/service/reload.ts';
import type { ServiceManager } from '../../src/service/service-manager.ts';
import { recordingLog } from '../support/silent-log.ts';

/** What the manager is told, in order. */
function recordingManager(): ServiceManager & { readonly told: string[] } {
  const told: string[] = [];
  const say =
    (what: string) =>
    (status = ''): void => {
      told.push(`${what} ${status}`);
    };
  return {
    told,
    watchdogMs: undefined,
    ready: say('ready'),
    reloading: say('reloading'),
    stopping: say('stopping'),
    status: say(''),
    alive: say(''),
  };
}

it('a reload that fails leaves the service serving, and its reason in the status', async () => {
  const manager = recordingManager();
  const log = recordingLog();
  await new Reloader(manager, log, async () => Promise.reject(new Error('a member is wrong'))).request();
  expect(manager.told).toEqual(['reloading reading the configuration anew', 'ready serving; the last reload failed: a member is wrong']);
  expect(log.lines).toEqual(['the reload failed; everything stays as it was {"reason":"a member is wrong"}']);
});

it('requests during a reload make one more after it, so that the last configuration counts', async () => {
  const manager = recordingManager();
  let runs = 0;
  let release = (): void => undefined;
  const reloader = new Reloader(manager, recordingLog(), async () => {
    runs += 1;
    if (runs > 1) return;
    await new Promise<void>((resolve) => {
      release = resolve;
    });
  });
  const all = [reloader.request(), reloader.request(), reloader.request()];
  release();
  await Promise.all(all);
  expect([runs, manager.told.length]).toEqual([2, 4]);
  await reloader.request();
  expect(runs).toBe(3);
});
