import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ckr } from '../../src/token/pkcs11-faults.ts';
import { FaultyToken } from './faulty-token.ts';

let faulty: FaultyToken;

beforeAll(async () => {
  faulty = await new FaultyToken({ clientSeconds: 20 }).start();
});
afterAll(async () => {
  await faulty.remove();
});
afterEach(() => {
  faulty.module.disarm();
});

describe.each([
  ['KEY_HANDLE_INVALID', ckr.KEY_HANDLE_INVALID],
  ['OBJECT_HANDLE_INVALID', ckr.OBJECT_HANDLE_INVALID],
])('a handle of which the token says %s', (_name, code) => {
  it('is looked up once more, for signatures and for secrets', async () => {
    for (const [call, work] of [
      ['C_SignInit', async () => faulty.sign()],
      ['C_SignInit', async () => faulty.signAsCaller()],
      ['C_VerifyInit', async () => faulty.signAsCaller()],
    ] as const) {
      faulty.module.arm(`${call} error ${code}`);
      expect([1, true]).toContain(await work());
      expect(faulty.module.armed).toBe(false);
    }
  });

  it('is not looked up endlessly: where nothing works, another host takes over, twice', async () => {
    for (const call of ['C_SignInit', 'C_VerifyInit']) {
      for (let time = 1; time <= 2; time += 1) {
        faulty.module.arm(`always ${call} error ${code}`);
        await faulty.loadUntilReplaced();
        faulty.module.disarm();
        await faulty.ready();
        expect(await faulty.load()).toEqual([]);
      }
    }
  });
});
