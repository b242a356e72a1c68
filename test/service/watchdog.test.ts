import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ServiceManager } from '../../src/service/service-manager.ts';
import { Watchdog, type VitalSign } from '../../src/service/watchdog.ts';
import type { StateStore } from '../../src/state/state-store.ts';
import { openSqliteStore } from '../../src/state/threaded-store.ts';
import { TokenClient } from '../../src/token/client/token-client.ts';
import { recordingLog } from '../support/silent-log.ts';
import { scratchToken } from '../support/scratch-token.ts';

const watchdogMs = 40;
const manyRoundsMs = 10 * watchdogMs;

/** Counts the pings, and lets a test wait for the next one. */
class PingCount implements ServiceManager {
  readonly watchdogMs = watchdogMs;
  count = 0;
  #waiting: (() => void)[] = [];

  alive(): void {
    this.count += 1;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  async next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }

  ready(): void {}
  reloading(): void {}
  stopping(): void {}
  status(): void {}
}

let directory: string;
let store: StateStore;
let pings: PingCount;
let faults: string[];
let watchdog: Watchdog;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'signetd-watchdog-'));
  store = await openSqliteStore(join(directory, 'state.sqlite'));
});

afterAll(async () => {
  await store.close();
  rmSync(directory, { recursive: true, force: true });
});

beforeEach(() => {
  pings = new PingCount();
  faults = [];
});

afterEach(() => {
  watchdog.stop();
});

function watch(...signs: readonly VitalSign[]): void {
  watchdog = new Watchdog(pings, signs, (name, reason) => faults.push(`${name}: ${reason}`));
  watchdog.start();
}

describe('the watchdog', () => {
  it('pings as long as all is well', async () => {
    watch({ name: 'database thread', check: async () => store.answer() });
    for (let ping = 0; ping < 3; ping += 1) await pings.next();
    expect(faults).toEqual([]);
  });

  it('is silent while the database thread hangs, and goes on when it is free again', async () => {
    watch({ name: 'database thread', check: async () => store.answer() });
    await pings.next();
    // Another process has the file for itself: the thread waits inside SQLite.
    const other = new DatabaseSync(join(directory, 'state.sqlite'));
    other.exec('begin immediate');
    const work = store.run('probe');
    const before = pings.count;
    await delay(manyRoundsMs);
    // One could have been on its way.
    expect(pings.count - before).toBeLessThanOrEqual(1);
    other.exec('commit');
    other.close();
    await work;
    await pings.next();
    expect(faults).toEqual([]);
  });

  it('is silent when the database thread has ended, and says so', async () => {
    const ended = await openSqliteStore(join(directory, 'ended.sqlite'));
    await ended.close();
    watch({ name: 'database thread', check: async () => ended.answer() });
    await delay(manyRoundsMs);
    expect(pings.count).toBe(0);
    expect(new Set(faults)).toEqual(new Set(['database thread: the state store is not available: it is closed']));
  });

  it('is silent while nobody looks after the token host', async () => {
    const scratch = scratchToken();
    const token = new TokenClient(scratch.config, scratch.configPath, recordingLog());
    const sign = {
      name: 'token client',
      check: () => {
        token.checkSupervised();
      },
    };
    watch(sign);
    expect(faults).toEqual(['token client: the supervisor of the token host has ended']);
    expect(pings.count).toBe(0);
    await token.start();
    await pings.next();
    await token.stop();
    scratch.remove();
  });

  it('starts no ping while the last one is looked into', async () => {
    let checks = 0;
    let release = (): void => undefined;
    watch({
      name: 'slow',
      check: async () =>
        new Promise((resolve) => {
          checks += 1;
          release = resolve;
        }),
    });
    await delay(manyRoundsMs);
    expect([checks, pings.count]).toEqual([1, 0]);
    release();
    await pings.next();
  });

  it('says nothing more once it is stopped', async () => {
    watch();
    await pings.next();
    watchdog.stop();
    const { count } = pings;
    await delay(manyRoundsMs);
    expect(pings.count).toBe(count);
  });
});
