import { createHmac } from 'node:crypto';
import type { Handle } from 'pkcs11js';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { makeMacKey } from '../../src/token/host/key-objects.ts';
import { macKeyLabel, macKeyTemplate } from '../../src/token/host/key-templates.ts';
import { findMacKeys, MacKey, MacKeyMissing, severalMacKeysFault } from '../../src/token/host/mac-key.ts';
import type { ModuleProfile } from '../../src/token/host/module-profile.ts';
import { pkcs11Code, pkcs11js } from '../../src/token/host/session.ts';
import { macKeyId } from '../../src/token/key-id.ts';
import { ckr } from '../../src/token/pkcs11-faults.ts';
import { DirectToken, profileWith } from './direct-token.ts';

const plain = profileWith();
const late = profileWith({ idAfterGeneration: true });
let token: DirectToken;

beforeAll(() => {
  token = new DirectToken();
});
afterEach(() => {
  vi.restoreAllMocks();
});
afterAll(() => {
  token.remove();
});
beforeEach(() => {
  for (const key of token.find({ type: pkcs11js.CKA_CLASS, value: pkcs11js.CKO_SECRET_KEY })) {
    token.module.C_DestroyObject(token.session.handle, key);
  }
});

const keyOf = (found?: Handle, profile: ModuleProfile = plain): MacKey => new MacKey(() => token.session, profile, found);
const make = (profile = plain): Handle => makeMacKey(token.session, { id: macKeyId }, profile);
/** What a kill leaves where the identifier comes after generation. */
const makeUnfinished = (): Handle =>
  token.module.C_GenerateKey(
    token.session.handle,
    { mechanism: pkcs11js.CKM_GENERIC_SECRET_KEY_GEN },
    macKeyTemplate({ id: macKeyId }, late),
  );
const destroy = (key: Handle): void => {
  token.module.C_DestroyObject(token.session.handle, key);
};
const errorOf = (work: () => unknown): unknown => {
  try {
    return work();
  } catch (error) {
    return error;
  }
};

/** One whose value is known. */
function imported(value: Buffer): Handle {
  const template = macKeyTemplate({ id: macKeyId }, plain).filter(({ type }) => type !== pkcs11js.CKA_VALUE_LEN);
  return token.module.C_CreateObject(token.session.handle, [...template, { type: pkcs11js.CKA_VALUE, value }]);
}

describe('the MAC key', () => {
  it('is known by its MAC of a text that no secret begins with', () => {
    const value = Buffer.alloc(32, 7);
    const key = keyOf(imported(value));
    const check = createHmac('sha256', value).update('signetd MAC key check v1\0').digest();
    expect([key.check(), keyOf().check()]).toEqual([check, check]);
  });

  it('is missing if the token has none', () => {
    expect(() => keyOf().check()).toThrow(MacKeyMissing);
    expect(() => keyOf().use(() => 'used')).toThrow('the token has no MAC key');
  });

  it('is looked up once, and its handle cached', () => {
    const handle = make();
    const search = vi.spyOn(token.module, 'C_FindObjectsInit');
    const key = keyOf();
    expect([key.use((each) => each), key.use((each) => each)]).toEqual([handle, handle]);
    expect(search).toHaveBeenCalledOnce();
    expect(keyOf(handle).use((each) => each)).toEqual(handle);
    expect(search).toHaveBeenCalledOnce();
  });

  it.each([ckr.KEY_HANDLE_INVALID, ckr.OBJECT_HANDLE_INVALID])('is looked for once more where its handle is stale (%i)', (code) => {
    const key = keyOf(make());
    const check = key.check();
    token.failNext('C_SignInit', code);
    expect(key.check()).toEqual(check);
  });

  it('is not looked up if the token fails otherwise', () => {
    const key = keyOf(make());
    key.check();
    const search = vi.spyOn(token.module, 'C_FindObjectsInit');
    token.failNext('C_SignInit', ckr.DEVICE_ERROR);
    expect(pkcs11Code(errorOf(() => key.check()))).toBe(ckr.DEVICE_ERROR);
    expect(search).not.toHaveBeenCalled();
  });

  it('that differs from the one before is not used by this host, which must be replaced', () => {
    const first = make();
    const key = keyOf(first);
    key.use(() => 'used');
    destroy(first);
    make();
    const used = vi.fn<(key: Handle) => void>();
    const error = errorOf(() => {
      key.use((each) => {
        token.module.C_SignInit(token.session.handle, { mechanism: pkcs11js.CKM_SHA256_HMAC }, each);
        used(each);
      });
    });
    expect([String(error), pkcs11Code(error)]).toEqual([expect.stringContaining('the MAC key has changed'), ckr.DEVICE_REMOVED]);
    expect(used).not.toHaveBeenCalled();
  });

  it('is not used if there are two', () => {
    make();
    make();
    expect(findMacKeys(token.session)).toHaveLength(2);
    expect(() => keyOf().check()).toThrow(`the token cannot be used: it has 2 MAC keys (CKA_ID ${macKeyId})`);
    expect([severalMacKeysFault(0), severalMacKeysFault(1)]).toEqual([undefined, undefined]);
  });
});

describe('the making of the MAC key', () => {
  it.each([
    ['plain', plain],
    ['that gives identifiers after generation', late],
  ])('happens once, by a profile %s', (_which, profile) => {
    const generate = vi.spyOn(token.module, 'C_GenerateKey');
    const key = keyOf(undefined, profile);
    const check = key.make();
    expect(key.make()).toEqual(check);
    expect(keyOf(undefined, profile).make()).toEqual(check);
    expect(generate).toHaveBeenCalledOnce();
    expect(findMacKeys(token.session)).toHaveLength(1);
  });

  it('continues with one that a kill left without its identifier, if identifiers are set after generation', () => {
    const left = makeUnfinished();
    const generate = vi.spyOn(token.module, 'C_GenerateKey');
    const key = keyOf(undefined, late);
    key.make();
    expect(generate).not.toHaveBeenCalled();
    expect(findMacKeys(token.session)).toEqual([left]);
  });

  it('does not search for one by its label if identifiers are set at generation', () => {
    const left = makeUnfinished();
    keyOf().make();
    const found = findMacKeys(token.session);
    expect(found).toHaveLength(1);
    expect(found).not.toEqual([left]);
    expect(token.read(left, pkcs11js.CKA_LABEL)?.toString()).toBe(macKeyLabel);
  });

  it('is undone if another host made one meanwhile', () => {
    const others: Handle[] = [];
    const real = token.module.C_GenerateKey.bind(token.module);
    vi.spyOn(token.module, 'C_GenerateKey').mockImplementationOnce((session, mechanism, template) => {
      others.push(real(session, mechanism, template));
      return real(session, mechanism, template);
    });
    expect(() => keyOf().make()).toThrow('another host made a MAC key at the same time; try again');
    expect(findMacKeys(token.session)).toEqual(others);
  });
});
