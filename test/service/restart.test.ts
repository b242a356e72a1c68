import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withOwnPorts } from '../support/daemon-process.ts';
import { Load } from '../support/load.ts';
import { quickstartEnvironment } from '../support/quickstart-environment.ts';
import { repetitions } from '../support/repetitions.ts';
import { SupervisingProcess } from '../support/service-manager.ts';

const restarts = repetitions(3, 1);
const timeout = Math.max(120_000, restarts * 20_000);
const watchdogMicroseconds = 2_000_000;
const environment = quickstartEnvironment();
const ports = { api: randomInt(30_000, 32_000), operations: randomInt(32_000, 32_700) };
let manager: SupervisingProcess;

beforeAll(() => {
  environment.prepare();
  withOwnPorts(environment);
  manager = new SupervisingProcess({
    command: [process.execPath, '--disable-sigusr1', 'dist/main.js', '--config', environment.description().configFile],
    sockets: ports,
    watchdogMicroseconds,
  });
});

afterAll(async () => {
  await manager.close();
  environment.remove();
});

describe('a daemon on sockets that the service manager holds', () => {
  it('loses no request when it is stopped and started under load', { timeout }, async () => {
    await manager.start();
    const { caCertificate, signRoot, clients } = environment.description();
    const files = clients['other'];
    if (files === undefined) throw new Error('no client');
    const url = `https://127.0.0.1:${ports.api}${signRoot}`;
    const load = new Load({ url, ca: caCertificate, ...files, callers: 16, pauseMs: 100 });
    await load.busy();
    for (let restart = 0; restart < restarts; restart += 1) {
      expect(await manager.end('SIGTERM')).toBe(0);
      await manager.start();
    }
    const { requests, failures } = await load.end();
    expect(failures).toEqual([]);
    expect(requests).toBeGreaterThan(16 * restarts);
  });
});
