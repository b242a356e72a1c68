import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { signing } from '../idempotency/callers.ts';
import { newCertificate, OwnService } from '../support/own-service.ts';
import { jsonOf, signetctl, type CommandRun } from '../support/signetctl.ts';

interface Key {
  readonly reference: string;
  readonly password: string;
}
const Made = z.looseObject({ keyReference: z.object({ reference: z.string(), password: z.string() }) });
const Result = z.looseObject({ result: z.looseObject({ resultMajor: z.number(), resultMinor: z.number() }) });

let service: OwnService;

beforeAll(async () => {
  service = await OwnService.start();
  // What the quickstart has made: every secret is counted here.
  const Identity = z.looseObject({ tenant: z.string(), ca: z.string(), certificateId: z.string() });
  for (const { tenant, ca, certificateId } of z.array(Identity).parse(await done('twoddoc', 'identity', 'list')))
    await done('twoddoc', 'identity', 'remove', '--tenant', tenant, '--ca', ca, '--certificate-id', certificateId);
  for (const { reference } of z.array(z.looseObject({ reference: z.string() })).parse(await done('key', 'list')))
    await done('key', 'remove', reference);
}, 300_000);
afterAll(async () => {
  await service.remove();
});

const ctl = async (...command: string[]): Promise<CommandRun> =>
  signetctl(['--config', service.description.configFile, '--json', ...command]);
async function done(...command: string[]): Promise<unknown> {
  const run = await ctl(...command);
  expect(run.status, run.stderr).toBe(0);
  return jsonOf(run);
}
const post = async (operation: string, body: object): Promise<unknown> => JSON.parse(await service.post(operation, body));
const newKey = async (): Promise<Key> => Made.parse(await post('pki/createCertificate', newCertificate())).keyReference;
/** The result code of a signature, such as `0/0`. */
async function codeOf(key: Key): Promise<string> {
  const { resultMajor, resultMinor } = Result.parse(await post('signature/sign', signing(key))).result;
  return `${resultMajor}/${resultMinor}`;
}
const wrong = ({ reference }: Key): Key => ({ reference, password: 'not the password of it' });

/** Signs with a key all the time until it is told to end. Answers every code. */
function signingWith(key: Key): { end: () => Promise<string[]> } {
  const seen = { isOver: false, codes: [] as string[] };
  const working = (async () => {
    while (!seen.isOver) {
      seen.codes.push(await codeOf(key).catch(String));
      await delay(20);
    }
  })();
  return {
    end: async () => {
      seen.isOver = true;
      await working;
      return seen.codes;
    },
  };
}

describe.each([1, 2])('signetctl mac, time %i', (generation) => {
  let used: Key;
  let unused: Key;
  let busy: Key[];

  it('rotate makes another key while callers sign, and every secret remains right', async () => {
    [used, unused] = [await newKey(), await newKey()];
    expect(await codeOf(used)).toBe('0/0');
    busy = await Promise.all([newKey(), newKey()]);
    const load = busy.map(signingWith);
    await delay(300);
    const rotated = await done('mac', 'rotate');
    expect(rotated).toMatchObject({ current: generation, former: 1, seals: 0 });
    await delay(700);
    for (const one of load) expect(new Set(await one.end())).toEqual(new Set(['0/0']));
    // Those that have signed since need the former key no more.
    expect(await done('mac', 'status')).toMatchObject({ current: generation, former: 1, secrets: 2, seals: 0 });
  });

  it('a wrong password is wrong, a right one is made anew, and the former key waits for the last one', async () => {
    expect(await codeOf(wrong(used))).not.toBe('0/0');
    expect(await done('mac', 'status')).toMatchObject({ secrets: 2 });
    expect(await codeOf(used)).toBe('0/0');
    expect(await done('mac', 'status')).toMatchObject({ secrets: 1 });
    const early = await ctl('mac', 'destroy-former');
    expect([early.status, early.stderr]).toEqual([5, expect.stringContaining('nothing was destroyed: 1 keys have a password')]);
    await service.daemon.kill();
    await service.daemon.start();
    expect([await codeOf(used), await codeOf(wrong(unused)), await codeOf(unused)]).toEqual([
      '0/0',
      expect.not.stringMatching('^0/0$'),
      '0/0',
    ]);
    expect(await done('mac', 'status')).toMatchObject({ current: generation, former: 1, secrets: 0 });
  });

  it('the former key is destroyed while callers sign, and the secrets hold after a restart', async () => {
    const load = signingWith(used);
    expect(await done('mac', 'destroy-former')).toMatchObject({ current: generation, former: 0, lost: 0 });
    await delay(300);
    expect(new Set(await load.end())).toEqual(new Set(['0/0']));
    await service.daemon.stop();
    await service.daemon.start();
    expect([await codeOf(used), await codeOf(unused), await codeOf(wrong(used))]).toEqual([
      '0/0',
      '0/0',
      expect.not.stringMatching('^0/0$'),
    ]);
    expect((await ctl('audit', 'verify')).status).toBe(0);
    expect(await done('backup', 'compare')).toMatchObject({ gaps: [], orphans: [] });
    for (const { reference } of [used, unused, ...busy]) await done('key', 'remove', reference);
  });
});

it('by force, the former key is destroyed although a secret depends on it, which is wrong from then on', async () => {
  const [lost, kept] = [await newKey(), await newKey()];
  await done('mac', 'rotate');
  expect(await codeOf(kept)).toBe('0/0');
  const forced = await ctl('mac', 'destroy-former', '--force');
  expect([forced.status, forced.stderr]).toEqual([0, expect.stringMatching(/the secrets of \d+ keys are lost/)]);
  expect([await codeOf(kept), await codeOf(lost)]).toEqual(['0/0', expect.not.stringMatching('^0/0$')]);
});
