import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { DaemonProcess, withoutKeyPool, withOwnPorts } from '../support/daemon-process.ts';
import { quickstartEnvironment } from '../support/quickstart-environment.ts';
import { repetitions } from '../support/repetitions.ts';
import { privateKeysOnToken } from '../support/token-listing.ts';

const kills = repetitions(4);
/** Several starts of a service, on a machine that has other work. */
const longestMs = 75_000 * kills;
const environment = quickstartEnvironment();
let daemon: DaemonProcess;

beforeAll(async () => {
  environment.prepare();
  withoutKeyPool(environment);
  const { opsUrl } = withOwnPorts(environment);
  daemon = new DaemonProcess(environment.description().configFile, opsUrl);
  await daemon.start();
}, longestMs);

afterAll(async () => {
  await daemon.stop();
  environment.remove();
});

function inState<T>(work: (state: DatabaseSync) => T): T {
  const state = new DatabaseSync(join(environment.directory, 'state.sqlite'), { timeout: 20_000 });
  try {
    return work(state);
  } finally {
    state.close();
  }
}

const responderKeys = (): unknown[] =>
  inState((state) =>
    state
      .prepare('select key_id from ocsp_responders')
      .all()
      .map((row) => row['key_id']),
  );
const announced = (): number => inState((state) => Number(state.prepare('select count(*) as n from key_journal').get()?.['n']));

it(
  'an OCSP responder whose making is cut short by kill -9 leaves no key on the token',
  async () => {
    await daemon.stop();
    const others = new Set(privateKeysOnToken(environment.directory).filter((id) => !responderKeys().includes(id)));
    let cut = 0;
    for (let round = 0; round < kills; round += 1) {
      // All of them have ended long ago: new ones are made, and the old keys go.
      inState((state) => state.exec('update ocsp_responders set not_after = 0'));
      const child = spawn(process.execPath, ['--disable-sigusr1', 'dist/main.js', '--config', environment.description().configFile], {
        stdio: 'ignore',
      });
      const ended = once(child, 'exit');
      while (announced() === 0 && child.exitCode === null) await delay(1);
      await delay(randomInt(0, 30));
      child.kill('SIGKILL');
      await ended;
      cut += announced() > 0 ? 1 : 0;
    }
    await daemon.start();
    expect(cut).toBeGreaterThan(0);
    expect(announced()).toBe(0);
    const ours = privateKeysOnToken(environment.directory).filter((id) => !others.has(id));
    expect(new Set(ours)).toEqual(new Set(responderKeys()));
  },
  longestMs,
);
