import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newKeyId } from '../../src/token/key-id.ts';
import { KeyGone } from '../../src/token/token.ts';
import { skipNote } from '../support/skip-note.ts';
import { FaultyToken, makes } from './faulty-token.ts';

/** Waits for a host that is replaced on a busy machine. */
const patienceSeconds = 20;

describe.each(makes)('on $make, a token that loses its login', ({ make, missing }) => {
  let faulty: FaultyToken;
  beforeAll(async () => {
    if (missing === undefined) faulty = await new FaultyToken({ clientSeconds: patienceSeconds, make }).start();
  });
  afterAll(async () => {
    if (missing === undefined) await faulty.remove();
  });
  beforeEach(async () => {
    if (missing === undefined) await faulty.ready();
  }, 40_000);
  afterEach(() => {
    if (missing === undefined) faulty.module.disarm();
  });

  // Calls that meet the loss first, each with what a request does then.
  const works: [call: string, work: () => Promise<unknown>, expected: unknown][] = [
    ['C_SignInit', async () => faulty.sign(), 1],
    ['C_VerifyInit', async () => faulty.signAsCaller(), true],
    ['C_SignInit', async () => faulty.signAsCaller(), true],
  ];

  it.skipIf(missing !== undefined)(`is logged in again by the next host, twice, and no request fails${skipNote(missing)}`, async () => {
    for (let time = 1; time <= 2; time += 1) {
      for (const [call, work, expected] of works) {
        const { hostPid } = faulty.client;
        faulty.module.arm(`${call} logout`);
        expect(await work(), call).toBe(expected);
        expect(faulty.module.armed).toBe(false);
        expect(faulty.client.hostPid).not.toBe(hostPid);
        await faulty.ready();
      }
      faulty.module.arm('C_SignInit logout');
      expect(await faulty.load()).toEqual([]);
      await faulty.ready();
    }
  });

  it.skipIf(missing !== undefined)(
    `destroys the key that it was told to destroy, twice: one that it does not find is not taken for gone${skipNote(missing)}`,
    async () => {
      for (const call of ['C_GetAttributeValue', 'C_FindObjectsInit', 'C_DestroyObject']) {
        for (let time = 1; time <= 2; time += 1) {
          const id = newKeyId('caller');
          await faulty.client.createKey(id, 'P-256');
          faulty.module.arm(`${call} logout`);
          await faulty.client.destroyKey(id);
          faulty.module.disarm();
          await faulty.ready();
          expect(faulty.scratch.privateKeys()).not.toContain(id);
          expect(faulty.scratch.privateKeys()).toContain(faulty.callersKey);
        }
      }
    },
  );

  it.skipIf(missing !== undefined)(`and a key that is not there is still told as gone${skipNote(missing)}`, async () => {
    const { hostPid } = faulty.client;
    await expect(faulty.client.signDigests(newKeyId('general'), { scheme: 'ECDSA', hash: 'sha256' }, [Buffer.alloc(32)])).rejects.toThrow(
      KeyGone,
    );
    expect(faulty.client.hostPid).toBe(hostPid);
  });
});
