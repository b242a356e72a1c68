import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newKeyId } from '../../src/token/key-id.ts';
import { ckr } from '../../src/token/pkcs11-faults.ts';
import { TokenCannot, TokenFull, TokenUnavailable } from '../../src/token/token.ts';
import { skipNote } from '../support/skip-note.ts';
import { FaultyToken, makes } from './faulty-token.ts';

/** Codes that say nothing about the host: FUNCTION_CANCELED, CANT_LOCK, OPERATION_NOT_INITIALIZED, SESSION_COUNT, and one of a vendor. */
const unknown = [0x50, 0x0a, 0x91, 0xb1, 0x80000383];

describe.each(makes)('on $make, a fault of unknown kind', ({ make, missing }) => {
  let faulty: FaultyToken;
  beforeAll(async () => {
    if (missing === undefined) faulty = await new FaultyToken({ clientSeconds: 20, make }).start();
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

  it.skipIf(missing !== undefined)(
    `once, is met in another session of the same host, and no request fails${skipNote(missing)}`,
    async () => {
      const { hostPid } = faulty.client;
      for (const code of unknown) {
        for (const call of ['C_SignInit', 'C_Sign', 'C_VerifyInit', 'C_Verify']) {
          faulty.module.arm(`${call} error ${code}`);
          expect(await faulty.load(), `${call} ${code}`).toEqual([]);
          expect(faulty.module.armed).toBe(false);
        }
      }
      expect(faulty.client.hostPid).toBe(hostPid);
    },
  );

  it.skipIf(missing !== undefined)(
    `that stays has the host replaced, twice in a row, and the next one serves once it is over${skipNote(missing)}`,
    async () => {
      for (const call of ['C_Sign', 'C_VerifyInit', 'C_Verify']) {
        for (let time = 1; time <= 2; time += 1) {
          faulty.module.arm(`always ${call} error 0x80000383`);
          const refused = await faulty.loadUntilReplaced();
          faulty.module.disarm();
          expect(await faulty.untilServed()).toBeLessThan(10_000);
          await faulty.ready();
          expect(await faulty.load()).toEqual([]);
          for (const reason of refused) expect(reason).toMatch(/0x80000383|down for too long|ended while/);
        }
      }
    },
  );

  it.skipIf(missing !== undefined)(`of one kind of request has no host replaced: the others are served${skipNote(missing)}`, async () => {
    const { hostPid } = faulty.client;
    faulty.module.arm(`always C_GenerateRandom error 0x80000383`);
    for (let time = 0; time < 10; time += 1) {
      await expect(faulty.client.random(16)).rejects.toThrow('0x80000383');
      expect(await faulty.load()).toEqual([]);
    }
    expect(faulty.client.hostPid).toBe(hostPid);
  });

  it.skipIf(missing !== undefined)(`is not what a request is refused for, which says so${skipNote(missing)}`, async () => {
    const { hostPid } = faulty.client;
    for (const code of [ckr.DATA_LEN_RANGE, ckr.FUNCTION_NOT_SUPPORTED, ckr.KEY_FUNCTION_NOT_PERMITTED]) {
      faulty.module.arm(`C_Sign error ${code}`);
      await expect(faulty.sign()).rejects.toThrow(TokenCannot);
    }
    expect(faulty.client.hostPid).toBe(hostPid);
  });

  it.skipIf(missing !== undefined)(
    `in making a key ends no host, and a token without room says so, twice${skipNote(missing)}`,
    async () => {
      const { hostPid } = faulty.client;
      for (let time = 1; time <= 2; time += 1) {
        faulty.module.arm(`always C_GenerateKeyPair error ${ckr.DEVICE_MEMORY}`);
        for (let key = 0; key < 5; key += 1) {
          await expect(faulty.client.createKey(newKeyId('caller'), 'P-256')).rejects.toThrow(TokenFull);
          expect(await faulty.load()).toEqual([]);
        }
        faulty.module.arm(`always C_GenerateKeyPair error ${ckr.FUNCTION_FAILED}`);
        await expect(faulty.client.createKey(newKeyId('caller'), 'P-256')).rejects.toThrow(TokenUnavailable);
        faulty.module.disarm();
        await faulty.client.createKey(newKeyId('caller'), 'P-256');
      }
      expect(faulty.client.hostPid).toBe(hostPid);
    },
  );

  it.skipIf(missing !== undefined)(
    `in making keys, session keys too, does not keep the next host from serving, twice${skipNote(missing)}`,
    async () => {
      for (let time = 1; time <= 2; time += 1) {
        faulty.module.arm(`always C_GenerateKeyPair error ${ckr.DEVICE_MEMORY}`);
        await faulty.restart();
        expect(await faulty.load()).toEqual([]);
        faulty.module.disarm();
      }
    },
  );
});
