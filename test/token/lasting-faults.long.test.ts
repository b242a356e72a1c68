import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ckr } from '../../src/token/pkcs11-faults.ts';
import { TokenUnavailable } from '../../src/token/token.ts';
import { stopProcess } from '../support/stop-process.ts';
import { FaultyToken } from './faulty-token.ts';

let faulty: FaultyToken;

beforeAll(async () => {
  faulty = await new FaultyToken({ clientSeconds: 1 }).start();
});

afterAll(async () => {
  await faulty.remove();
});

beforeEach(async () => {
  await faulty.ready();
}, 40_000);

afterEach(() => {
  faulty.module.disarm();
});

it('a host that is stopped has no deadline of its own: it is replaced', async () => {
  const hostPid = faulty.client.hostPid ?? 0;
  await stopProcess(hostPid);
  // Refused, or repeated once on the next host where that one serves soon enough: both are lawful, and neither is of the stopped host.
  const outcome = await faulty.sign().then(
    () => 'signed',
    (error: unknown) => error,
  );
  if (outcome === 'signed') expect(faulty.client.hostPid).not.toBe(hostPid);
  else expect(outcome).toBeInstanceOf(TokenUnavailable);
  expect(await faulty.untilServed()).toBeLessThan(20_000);
  expect(faulty.client.hostPid).not.toBe(hostPid);
}, 60_000);

it('a token that fails once at the probe of a host: that start fails, and the next host serves', async () => {
  const from = faulty.log.lines.length;
  process.kill(faulty.client.hostPid ?? 0, 'SIGKILL');
  faulty.module.arm(`C_SignInit error ${ckr.DEVICE_ERROR}`);
  expect(await faulty.untilServed()).toBeLessThan(20_000);
  expect(faulty.module.armed).toBe(false);
  expect(faulty.log.lines.slice(from).some((line) => line.includes('exit code 70'))).toBe(true);
}, 60_000);

describe('a token that goes on misbehaving', () => {
  it.each([
    ['hangs', 'C_Sign hang'],
    ['crashes', 'C_Sign crash'],
    ['answers DEVICE_ERROR', `C_Sign error ${ckr.DEVICE_ERROR}`],
    ['refuses sessions', `C_OpenSession error ${ckr.TOKEN_NOT_PRESENT}`],
    ['cannot be logged in to', `C_Login error ${ckr.DEVICE_REMOVED}`],
  ])('and %s: requests are refused, and it serves again within a second of the end', async (_name, fault) => {
    faulty.module.arm(`always ${fault}`);
    if (!fault.startsWith('C_Sign')) process.kill(faulty.client.hostPid ?? 0, 'SIGKILL');
    await expect(faulty.sign()).rejects.toThrow(TokenUnavailable);
    faulty.module.disarm();
    // A hang ends with the deadline of its call; the next host needs the goal's second, of which a test allows ten.
    expect(await faulty.untilServed()).toBeLessThan(10_000);
    expect(await faulty.load()).toEqual([]);
  });
});

it('a refused PIN at a later start: not ready, one message, and no second login', async () => {
  const other = await new FaultyToken({ clientSeconds: 20 }).start();
  const { client, log, module } = other;
  module.arm(`C_Login error ${ckr.PIN_INCORRECT}`);
  process.kill(client.hostPid ?? 0, 'SIGKILL');
  await expect(client.random(16)).rejects.toThrow('refuses the PIN');
  expect(client.ready).toBe(false);
  // A second login would succeed, since the fault strikes once.
  expect(module.armed).toBe(false);
  await expect(client.random(16)).rejects.toThrow('refuses the PIN');
  expect(client.hostPid).toBeUndefined();
  expect(log.lines.filter((line) => line.includes('PIN')).length).toBe(1);
  await other.remove();
});
