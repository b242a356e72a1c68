import type { PKCS11 } from 'pkcs11js';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { loadModule, openSession, pkcs11Code, pkcs11js, slotOf } from '../../src/token/host/session.ts';
import { ckr } from '../../src/token/pkcs11-faults.ts';
import { pkcs11Error } from './direct-token.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

const slot = (number: number): Buffer => Buffer.of(number, 0, 0, 0, 0, 0, 0, 0);

/** A module with a token in each slot, of these labels. */
function moduleOf(...labels: string[]): PKCS11 {
  const module = new pkcs11js.PKCS11();
  const version = { major: 1, minor: 0 };
  const info = {
    ...{ manufacturerID: '', model: '', serialNumber: '', flags: 0, maxSessionCount: 0, sessionCount: 0, maxRwSessionCount: 0 },
    ...{ rwSessionCount: 0, maxPinLen: 0, minPinLen: 0, hardwareVersion: version, firmwareVersion: version, utcTime: '' },
    ...{ totalPublicMemory: 0, freePublicMemory: 0, totalPrivateMemory: 0, freePrivateMemory: 0 },
  };
  vi.spyOn(module, 'C_GetSlotList').mockReturnValue(labels.map((_, index) => slot(index)));
  vi.spyOn(module, 'C_GetTokenInfo').mockImplementation(([index = 0]) => ({ ...info, label: labels[index] ?? '' }));
  return module;
}

describe('the slot of the token', () => {
  it('is the one whose token has the label, whole, of those that have a token', () => {
    const module = moduleOf('test 2   ', 'test   ', 'tes    ');
    const list = vi.spyOn(module, 'C_GetSlotList');
    expect(slotOf(module, 'test')).toEqual(slot(1));
    expect(list).toHaveBeenCalledWith(true);
  });

  it('is none if no token has the label, or several have', () => {
    expect(() => slotOf(moduleOf('other'), 'test')).toThrow('no token with the label "test"');
    expect(() => slotOf(moduleOf('test', 'test'), 'test')).toThrow('2 tokens with the label "test"');
  });

  it('gets a session in which keys can be made', () => {
    const module = moduleOf('test');
    const open = vi.spyOn(module, 'C_OpenSession').mockReturnValue(slot(9));
    expect(openSession(module, slot(0))).toEqual({ module, handle: slot(9) });
    expect(open).toHaveBeenCalledWith(slot(0), 0x4 | 0x2);
  });
});

describe('a module that is loaded', () => {
  it('is told that threads share it; that another thread did so before is no fault, and every other answer is one', () => {
    const load = vi.spyOn(pkcs11js.PKCS11.prototype, 'load').mockReturnValue();
    const initialise = vi.spyOn(pkcs11js.PKCS11.prototype, 'C_Initialize').mockReturnValue();
    expect(loadModule('/module.so')).toBeInstanceOf(pkcs11js.PKCS11);
    expect(load).toHaveBeenCalledWith('/module.so');
    expect(initialise).toHaveBeenCalledWith({ flags: 0x2 });
    initialise.mockImplementation(() => {
      throw pkcs11Error(ckr.CRYPTOKI_ALREADY_INITIALIZED);
    });
    expect(loadModule('/module.so')).toBeInstanceOf(pkcs11js.PKCS11);
    initialise.mockImplementation(() => {
      throw pkcs11Error(ckr.GENERAL_ERROR);
    });
    expect(() => loadModule('/module.so')).toThrow('CKR_SOMETHING');
  });
});

describe('the code of an error', () => {
  it.each([
    ['its own', Object.assign(new Error('anything'), { code: 0x30 }), 0x30],
    ['that in its text', new Error('CKR_DEVICE_ERROR:48\n    at C_Sign'), 48],
    ['that in its text where its own is a word', Object.assign(new Error('CKR_DEVICE_ERROR:48'), { code: 'ENOENT' }), 48],
    ['none', new Error('another fault: 48'), undefined],
    ['none, where it is no error', 'CKR_DEVICE_ERROR:48', undefined],
  ])('is %s', (_which, error, code) => {
    expect(pkcs11Code(error)).toBe(code);
  });
});
