import type { PKCS11, TokenInfo } from 'pkcs11js';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { pkcs11js } from '../../src/token/host/session.ts';
import { reportModule, reportSlots, reportToken, slotNumber } from '../../src/token/host/token-report.ts';
import { tokenFlags } from '../../src/token/wire/token-report.ts';
import { pkcs11Error } from './direct-token.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

const slot = (number: bigint): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(number);
  return bytes;
};
const info: TokenInfo = {
  label: 'test      ',
  manufacturerID: 'Maker     ',
  model: 'Model   ',
  serialNumber: '0001  ',
  flags: 0,
  maxSessionCount: 16,
  sessionCount: 3,
  maxRwSessionCount: 8,
  rwSessionCount: 1,
  maxPinLen: 64,
  minPinLen: 4,
  hardwareVersion: { major: 2, minor: 61 },
  firmwareVersion: { major: 3, minor: 7 },
  utcTime: '',
  totalPublicMemory: 0,
  freePublicMemory: 0,
  totalPrivateMemory: 0,
  freePrivateMemory: 0,
};

/** A module whose tokens say this of themselves, one a slot. */
function moduleOf(...tokens: Partial<TokenInfo>[]): PKCS11 {
  const module = new pkcs11js.PKCS11();
  vi.spyOn(module, 'C_GetSlotList').mockReturnValue(tokens.map((_, index) => slot(BigInt(index))));
  vi.spyOn(module, 'C_GetTokenInfo').mockImplementation((each) => ({ ...info, ...tokens[Number(slotNumber(each))] }));
  return module;
}

const reported = (changes: Partial<TokenInfo>): ReturnType<typeof reportToken> => reportToken(moduleOf(changes), slot(0n));

describe('what a token says of itself', () => {
  it('is reported without padding blanks', () => {
    expect(reported({})).toEqual({
      label: 'test',
      serial: '0001',
      manufacturer: 'Maker',
      model: 'Model',
      hardwareVersion: '2.61',
      firmwareVersion: '3.7',
      flags: [],
      pinLength: { min: 4, max: 64 },
      sessions: { open: 3, max: 16 },
    });
  });

  it('has its flags by their numbers in PKCS #11', () => {
    const numbers = {
      CKF_TOKEN_INITIALIZED: 'initialised',
      CKF_USER_PIN_INITIALIZED: 'userPinSet',
      CKF_LOGIN_REQUIRED: 'loginRequired',
      CKF_WRITE_PROTECTED: 'writeProtected',
      CKF_PROTECTED_AUTHENTICATION_PATH: 'pinPad',
      CKF_USER_PIN_COUNT_LOW: 'userPinLow',
      CKF_USER_PIN_FINAL_TRY: 'userPinFinalTry',
      CKF_USER_PIN_LOCKED: 'userPinLocked',
      CKF_USER_PIN_TO_BE_CHANGED: 'userPinToBeChanged',
      CKF_SO_PIN_COUNT_LOW: 'soPinLow',
      CKF_SO_PIN_FINAL_TRY: 'soPinFinalTry',
      CKF_SO_PIN_LOCKED: 'soPinLocked',
      CKF_SO_PIN_TO_BE_CHANGED: 'soPinToBeChanged',
      CKF_ERROR_STATE: 'errorState',
    } as const;
    const table = Object.entries(numbers);
    expect(table.map(([, flag]) => flag)).toEqual(tokenFlags);
    const flagOf = (name: string): number => new Map(Object.entries(pkcs11js)).get(name) as number;
    for (const [name, flag] of table) expect([name, reported({ flags: flagOf(name) }).flags]).toEqual([name, [flag]]);
    expect(reported({ flags: 0xffffffff }).flags).toEqual(tokenFlags);
    const known = table.reduce((sum, [name]) => sum | flagOf(name), 0);
    expect(reported({ flags: ~known }).flags).toEqual([]);
  });

  it.each([
    [
      { sessionCount: 0, maxSessionCount: 1 },
      { open: 0, max: 1 },
    ],
    [
      { sessionCount: 5, maxSessionCount: 0 },
      { open: 5, max: null },
    ],
    [
      { sessionCount: -1, maxSessionCount: -1 },
      { open: null, max: null },
    ],
    [
      { sessionCount: 0xffffffff, maxSessionCount: 0xffffffff },
      { open: null, max: null },
    ],
    [
      { sessionCount: 0xfffffffe, maxSessionCount: 0xfffffffe },
      { open: 0xfffffffe, max: 0xfffffffe },
    ],
  ])('has counts of sessions where they are counts: %j', (counts, sessions) => {
    expect(reported(counts).sessions).toEqual(sessions);
  });
});

describe('what a module says', () => {
  it('about itself is reported without padding blanks', () => {
    const module = new pkcs11js.PKCS11();
    vi.spyOn(module, 'C_GetInfo').mockReturnValue({
      cryptokiVersion: { major: 2, minor: 40 },
      manufacturerID: 'Maker   ',
      flags: 0,
      libraryDescription: 'A module   ',
      libraryVersion: { major: 2, minor: 6 },
    });
    expect(reportModule(module)).toEqual({ description: 'A module', manufacturer: 'Maker', version: '2.6', cryptokiVersion: '2.40' });
  });

  it('of its slots is told of each, with the token that is there or why nothing is known of it', () => {
    const module = moduleOf({}, {}, {}, {}, {});
    const list = vi.spyOn(module, 'C_GetSlotList');
    const flags = [0, 1, 2, 3];
    vi.spyOn(module, 'C_GetSlotInfo').mockImplementation((each) => {
      if (slotNumber(each) === '4') throw pkcs11Error(0x30);
      return {
        slotDescription: 'A slot   ',
        // Some modules fill up with NUL.
        manufacturerID: 'Maker\0\0\0',
        flags: flags[Number(slotNumber(each))] ?? 0,
        hardwareVersion: { major: 1, minor: 0 },
        firmwareVersion: { major: 1, minor: 0 },
      };
    });
    const token = reportToken(module, slot(1n));
    vi.spyOn(module, 'C_GetTokenInfo').mockImplementation((each) => {
      if (slotNumber(each) === '3') throw pkcs11Error(0xe1);
      return info;
    });
    const common = { description: 'A slot', manufacturer: 'Maker' };
    expect(reportSlots(module)).toEqual([
      { slot: '0', ...common, removable: false, token: null, fault: null },
      { slot: '1', ...common, removable: false, token, fault: null },
      { slot: '2', ...common, removable: true, token: null, fault: null },
      {
        slot: '3',
        ...common,
        removable: true,
        token: null,
        fault: expect.stringContaining('0xe1: the token in the slot is unknown') as string,
      },
      {
        slot: '4',
        description: '',
        manufacturer: '',
        removable: false,
        token: null,
        fault: 'the device reports an error (CKR_DEVICE_ERROR)',
      },
    ]);
    // Slots without tokens are there as well.
    expect(list).toHaveBeenCalledWith(false);
    expect(slotNumber(slot(0xfedcba9876543210n))).toBe('18364758544493064720');
  });
});
