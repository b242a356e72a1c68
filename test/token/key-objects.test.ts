import { createPublicKey } from 'node:crypto';
import type { Attribute, Handle } from 'pkcs11js';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi, type MockInstance } from 'vitest';
import {
  createKeyPair,
  destroyIfStillThere,
  destroyKeys,
  generatePair,
  makeMacKey,
  type MadePair,
} from '../../src/token/host/key-objects.ts';
import { KeyListing } from '../../src/token/host/key-listing.ts';
import { labelOf, privateTemplate, publicTemplate, type KeyPlace } from '../../src/token/host/key-templates.ts';
import type { ModuleProfile } from '../../src/token/host/module-profile.ts';
import { pkcs11js, type Session } from '../../src/token/host/session.ts';
import { macKeyId, newKeyId, type KeyId } from '../../src/token/key-id.ts';
import { ckr } from '../../src/token/pkcs11-faults.ts';
import { DirectToken, pkcs11Error, profileWith } from './direct-token.ts';

const { CKO_PRIVATE_KEY, CKO_PUBLIC_KEY, CKO_SECRET_KEY } = pkcs11js;
const plain = profileWith();
const late = profileWith({ idAfterGeneration: true });
const onToken = profileWith({ publicKey: { onToken: true } });

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

const make = (place: KeyPlace, profile: ModuleProfile = plain): MadePair =>
  createKeyPair(token.session, place, 'P-256', { profile, rsaKeyPairMechanism: pkcs11js.CKM_RSA_PKCS_KEY_PAIR_GEN });
const ofClass = (objectClass: number): Handle[] => token.find({ type: pkcs11js.CKA_CLASS, value: objectClass });
const isThere = (handle: Handle): boolean =>
  [CKO_PRIVATE_KEY, CKO_PUBLIC_KEY, CKO_SECRET_KEY].flatMap(ofClass).some((each) => each.equals(handle));
const destroy = (handle: Handle): void => {
  token.module.C_DestroyObject(token.session.handle, handle);
};

/** Both halves as `generatePair` has them before it reads the public one: what a kill at that moment leaves. */
function half(place: KeyPlace, profile: ModuleProfile, changed: { label?: string; token?: boolean } = {}): Handle {
  const { label = labelOf(place, profile), token: stays = true } = changed;
  const privateKey = privateTemplate(place, 'P-256', profile).map((attribute) => {
    if (attribute.type === pkcs11js.CKA_LABEL) return { ...attribute, value: label };
    return attribute.type === pkcs11js.CKA_TOKEN ? { ...attribute, value: stays } : attribute;
  });
  const mechanism = { mechanism: pkcs11js.CKM_EC_KEY_PAIR_GEN };
  return token.module.C_GenerateKeyPair(token.session.handle, mechanism, publicTemplate(place, 'P-256', profile), privateKey).privateKey;
}

function secretKey(id: KeyId, profile: ModuleProfile = plain): Handle {
  return makeMacKey(token.session, { id }, profile);
}

describe('a key whose making failed in passing', () => {
  const patient = profileWith({ generationAttempts: 3 });
  const found = (id: KeyId): number =>
    [CKO_PRIVATE_KEY, CKO_PUBLIC_KEY, CKO_SECRET_KEY]
      .flatMap(ofClass)
      .filter((each) => token.read(each, pkcs11js.CKA_ID)?.toString('hex') === id).length;

  it.each([ckr.GENERAL_ERROR, ckr.FUNCTION_FAILED, 0xd1])('is made by another attempt (%i), once', (code) => {
    const id = newKeyId('general');
    token.failNext('C_GenerateKeyPair', code);
    token.failNext('C_GetAttributeValue', code);
    const { handle } = make({ id }, patient);
    expect([found(id), isThere(handle)]).toEqual([1, true]);
    destroy(handle);
    const mac = newKeyId('mac');
    token.failNext('C_GenerateKey', code);
    destroy(secretKey(mac, patient));
    expect(found(mac)).toBe(0);
  });

  it('is one, whatever a failed attempt left', () => {
    const id = newKeyId('general');
    vi.spyOn(token.module, 'C_GenerateKeyPair').mockImplementationOnce(() => {
      half({ id }, patient);
      throw pkcs11Error(ckr.GENERAL_ERROR);
    });
    const { handle } = make({ id }, patient);
    expect([found(id), isThere(handle)]).toEqual([1, true]);
    destroy(handle);
  });

  /** The next key is made without its identifier, as when SoftHSM loses attributes. */
  function loseId(): void {
    const { module } = token;
    const rest = (template: Attribute[] = []): Attribute[] => template.filter(({ type }) => type !== pkcs11js.CKA_ID);
    const [pair, secret] = [module.C_GenerateKeyPair.bind(module), module.C_GenerateKey.bind(module)];
    vi.spyOn(module, 'C_GenerateKeyPair').mockImplementationOnce((session, mechanism, publicKey, privateKey) =>
      pair(session, mechanism, publicKey, rest(privateKey)),
    );
    vi.spyOn(module, 'C_GenerateKey').mockImplementationOnce((session, mechanism, template) => secret(session, mechanism, rest(template)));
  }
  const keys = (): number => [CKO_PRIVATE_KEY, CKO_PUBLIC_KEY, CKO_SECRET_KEY].flatMap(ofClass).length;

  it.each(['its identifier', 'its class'])('is made by another attempt if the token lost %s, and nothing is left of the first', (lost) => {
    const before = keys();
    const id = newKeyId('general');
    if (lost === 'its identifier') loseId();
    else {
      const real = token.module.C_GetAttributeValue.bind(token.module);
      // The first call reads the public key.
      vi.spyOn(token.module, 'C_GetAttributeValue')
        .mockImplementationOnce(real)
        .mockImplementationOnce(() => {
          throw pkcs11Error(ckr.ATTRIBUTE_VALUE_INVALID);
        });
    }
    const generate = vi.spyOn(token.module, 'C_GenerateKeyPair');
    const { handle } = make({ id }, patient);
    expect(generate).toHaveBeenCalledTimes(2);
    vi.restoreAllMocks();
    expect([keys() - before, found(id), token.read(handle, pkcs11js.CKA_ID)?.toString('hex')]).toEqual([1, 1, id]);
    destroy(handle);
  });

  it('is refused, and does not stay, if the token lost its identifier each time', () => {
    const before = keys();
    loseId();
    expect(() => make({ id: newKeyId('general') })).toThrow('the new key lacks attributes');
    expect(() => secretKey(newKeyId('mac'))).toThrow('the new key lacks attributes');
    expect(keys()).toBe(before);
  });

  it('is not tried again beyond the limit, after another fault, under another profile, or if it is the MAC key', () => {
    const fail = (times: number, code: number): MockInstance => {
      const spy = vi.spyOn(token.module, 'C_GenerateKeyPair');
      for (let time = 0; time < times; time += 1)
        spy.mockImplementationOnce(() => {
          throw pkcs11Error(code);
        });
      return spy;
    };
    const cases = [
      [patient, 3, ckr.GENERAL_ERROR, 3],
      [patient, 1, ckr.DEVICE_ERROR, 1],
      [plain, 1, ckr.GENERAL_ERROR, 1],
    ] as const;
    for (const [profile, times, code, calls] of cases) {
      const spy = fail(times, code);
      expect(() => make({ id: newKeyId('general') }, profile)).toThrow(String(code));
      expect(spy).toHaveBeenCalledTimes(calls);
      vi.restoreAllMocks();
    }
    token.failNext('C_GenerateKey', ckr.GENERAL_ERROR);
    expect(() => secretKey(macKeyId, patient)).toThrow(String(ckr.GENERAL_ERROR));
  });
});

describe('a key pair', () => {
  it('leaves its private half on the token, and returns its public half', () => {
    const id = newKeyId('general');
    const before = ofClass(CKO_PUBLIC_KEY).length;
    const { handle, publicKeyInfo } = make({ id });
    expect(token.read(handle, pkcs11js.CKA_ID)?.toString('hex')).toBe(id);
    expect(createPublicKey({ key: publicKeyInfo, format: 'der', type: 'spki' }).asymmetricKeyDetails).toEqual({ namedCurve: 'prime256v1' });
    expect(ofClass(CKO_PUBLIC_KEY)).toHaveLength(before);
    destroyKeys(token.session, id, plain);
  });

  it.each([
    ['returned no public key', 'C_GetAttributeValue', plain],
    ['takes no identifier after generation', 'C_SetAttributeValue', late],
  ] as const)('that cannot be finished leaves nothing: the token %s', (_what, call, profile) => {
    const before = [CKO_PRIVATE_KEY, CKO_PUBLIC_KEY].map((each) => ofClass(each).length);
    token.failNext(call, ckr.DEVICE_ERROR);
    expect(() => make({ id: newKeyId('general') }, profile)).toThrow(String(ckr.DEVICE_ERROR));
    expect([CKO_PRIVATE_KEY, CKO_PUBLIC_KEY].map((each) => ofClass(each).length)).toEqual(before);
  });

  it('is refused if the token has no value for the public half', () => {
    vi.spyOn(token.module, 'C_GetAttributeValue').mockReturnValueOnce([]);
    expect(() => make({ id: newKeyId('general') })).toThrow('the token returned no public key');
  });

  it.each([
    ['at once', plain, 0],
    ['after generation', late, 1],
  ])('gets its identifier %s', (_when, profile, times) => {
    const set = vi.spyOn(token.module, 'C_SetAttributeValue');
    const id = newKeyId('general');
    const { handle } = make({ id }, profile);
    expect(set).toHaveBeenCalledTimes(times);
    expect(token.read(handle, pkcs11js.CKA_ID)?.toString('hex')).toBe(id);
    destroy(handle);
  });

  it('that lives in a session gets no identifier', () => {
    const set = vi.spyOn(token.module, 'C_SetAttributeValue');
    const { handle } = make('session', late);
    const key = makeMacKey(token.session, 'session', late);
    expect(set).not.toHaveBeenCalled();
    for (const each of [handle, key]) {
      expect(token.read(each, pkcs11js.CKA_ID)).toHaveLength(0);
      expect(token.read(each, pkcs11js.CKA_TOKEN)).toEqual(Buffer.of(0));
      destroy(each);
    }
  });

  it('is made by the mechanism that the rules name', () => {
    const generate = vi.spyOn(token.module, 'C_GenerateKeyPair');
    const rules = { profile: plain, rsaKeyPairMechanism: pkcs11js.CKM_RSA_X9_31_KEY_PAIR_GEN };
    expect(() => createKeyPair(token.session, 'session', 'RSA-2048', rules)).toThrow('CKR_');
    destroy(createKeyPair(token.session, 'session', 'P-256', rules).handle);
    expect(generate.mock.calls.map(([, { mechanism }]) => mechanism)).toEqual([
      pkcs11js.CKM_RSA_X9_31_KEY_PAIR_GEN,
      pkcs11js.CKM_EC_KEY_PAIR_GEN,
    ]);
  });

  it('is read before its public half goes', () => {
    const id = newKeyId('general');
    const how = {
      mechanism: pkcs11js.CKM_EC_KEY_PAIR_GEN,
      publicKey: publicTemplate({ id }, 'P-384', onToken),
      privateKey: privateTemplate({ id }, 'P-384', onToken),
    };
    let wasThere = false;
    const { publicKeyInfo, handle } = generatePair(token.session, { id }, how, onToken, (publicKey) => {
      wasThere = isThere(publicKey);
      return Buffer.from('read');
    });
    expect([wasThere, publicKeyInfo.toString(), token.count(CKO_PUBLIC_KEY, id)]).toEqual([true, 'read', 0]);
    destroy(handle);
  });
});

describe('a secret key', () => {
  it('gets its identifier after generation if the profile requires it, and is removed if that fails', () => {
    const id = newKeyId('mac');
    const key = secretKey(id, late);
    expect(token.read(key, pkcs11js.CKA_ID)?.toString('hex')).toBe(id);
    destroy(key);
    const before = ofClass(CKO_SECRET_KEY).length;
    token.failNext('C_SetAttributeValue', ckr.DEVICE_ERROR);
    expect(() => secretKey(newKeyId('mac'), late)).toThrow(String(ckr.DEVICE_ERROR));
    expect(ofClass(CKO_SECRET_KEY)).toHaveLength(before);
  });
});

/** All keys that a listing reads, in however many steps, and those that it finishes. */
function listKeys(session: Session, profile: ModuleProfile): Map<KeyId, Handle> {
  const listing = new KeyListing(() => session, profile);
  const found = new Map<KeyId, Handle>();
  for (let step = listing.step(); ; step = listing.step()) {
    for (const [id, handle] of step.keys) found.set(id, handle);
    if (step.isComplete) break;
  }
  for (const [id, handle] of listing.finishHalfMade()) found.set(id, handle);
  return found;
}

describe('the keys that a listing finds', () => {
  const listed = (profile: ModuleProfile = plain): KeyId[] => [...listKeys(token.session, profile).keys()];

  it('are our private and secret keys, by their handles, without the key that secrets are checked with', () => {
    const [signer, mac] = [newKeyId('general'), newKeyId('mac')];
    const { handle } = make({ id: signer });
    const macHandle = secretKey(mac);
    expect(token.count(CKO_SECRET_KEY, macKeyId)).toBe(1);
    expect(listKeys(token.session, plain)).toEqual(
      new Map([
        [signer, handle],
        [mac, macHandle],
      ]),
    );
    for (const id of [signer, mac]) destroyKeys(token.session, id, plain);
    expect(listed()).toEqual([]);
  });

  it('do not include the keys of others', () => {
    const foreign = make({ id: '4477' as KeyId }).handle;
    expect(listed()).toEqual([]);
    expect(isThere(foreign)).toBe(true);
    destroy(foreign);
  });

  it('do not include keys whose identifier the token does not reveal', () => {
    const { handle } = make({ id: newKeyId('general') });
    vi.spyOn(token.module, 'C_GetAttributeValue').mockReturnValue([]);
    expect(listed()).toEqual([]);
    vi.restoreAllMocks();
    expect(isThere(handle)).toBe(true);
    destroy(handle);
  });

  it.each([
    ['with the label of all keys', plain, 'signetd', true],
    ['with a label of its own', plain, undefined, true],
    ['with the label of all keys, where labels are to carry identifiers', late, 'signetd', true],
    ['with the label of somebody else', plain, 'their key', false],
    ['with the label of somebody else, where labels are to carry identifiers', late, 'their key', false],
    ['with the label of the MAC key, which its own start looks for', late, 'signetd secrets', false],
  ])('do not have one without identifier %s', (_what, profile, label = labelOf({ id: newKeyId('general') }, late), goes) => {
    const handle = half({ id: newKeyId('general') }, late, { label });
    expect(listed(profile)).toEqual([]);
    expect(isThere(handle)).toBe(!goes);
    if (!goes) destroy(handle);
  });

  it('include a key without an identifier by the one in its label, if labels carry identifiers', () => {
    const id = newKeyId('general');
    const handle = half({ id }, late);
    expect(listKeys(token.session, late)).toEqual(new Map([[id, handle]]));
    expect(token.read(handle, pkcs11js.CKA_ID)?.toString('hex')).toBe(id);
    destroy(handle);
  });

  it.each([
    ['somebody else', 'their key'],
    ['one of ours', labelOf({ id: newKeyId('general') }, late)],
  ])('do not have one that is no object of the token, with the label of %s: it goes', (_whose, label) => {
    const handle = half({ id: newKeyId('general') }, late, { label, token: false });
    expect(listed(late)).toEqual([]);
    expect(isThere(handle)).toBe(false);
  });
});

describe('a key that is destroyed', () => {
  it('of a caller is destroyed by its cached handle, without a search', () => {
    const id = newKeyId('caller');
    const { handle } = make({ id });
    const search = vi.spyOn(token.module, 'C_FindObjectsInit');
    destroyKeys(token.session, id, plain, handle);
    expect(search).not.toHaveBeenCalled();
    expect(isThere(handle)).toBe(false);
  });

  it('of a caller is searched for if no handle is cached', () => {
    const id = newKeyId('caller');
    const { handle } = make({ id });
    destroyKeys(token.session, id, plain);
    expect(isThere(handle)).toBe(false);
  });

  it('is destroyed with its public half if that is on the token and a kill has left it', () => {
    const id = newKeyId('caller');
    const handle = half({ id }, onToken);
    expect(token.count(CKO_PUBLIC_KEY, id)).toBe(1);
    destroyKeys(token.session, id, onToken, handle);
    expect([token.count(CKO_PUBLIC_KEY, id), token.count(CKO_PRIVATE_KEY, id)]).toEqual([0, 0]);
  });

  it('leaves a public key alone if the profile keeps public keys off the token', () => {
    const id = newKeyId('general');
    half({ id }, onToken);
    destroyKeys(token.session, id, plain);
    expect([token.count(CKO_PUBLIC_KEY, id), token.count(CKO_PRIVATE_KEY, id)]).toEqual([1, 0]);
    destroyKeys(token.session, id, onToken);
  });

  it('is destroyed with what a kill has left under its label, if labels carry identifiers', () => {
    const id = newKeyId('caller');
    const { handle } = make({ id }, late);
    const left = half({ id }, late);
    const other = half({ id: newKeyId('caller') }, late);
    destroyKeys(token.session, id, late, handle);
    expect([handle, left, other].map(isThere)).toEqual([false, false, true]);
    destroy(other);
  });

  it('leaves objects with its label alone, if labels carry no identifiers', () => {
    const profile = profileWith({ privateKey: { uniqueLabel: true } });
    const id = newKeyId('caller');
    const left = half({ id }, late);
    destroyKeys(token.session, id, profile);
    expect(isThere(left)).toBe(true);
    destroy(left);
  });

  it('of the service is destroyed with every object that has its identifier, even if a handle is cached', () => {
    const id = newKeyId('general');
    const { handle } = make({ id });
    const others = [make({ id }).handle, secretKey(id)];
    destroyKeys(token.session, id, plain, handle);
    expect([handle, ...others].map(isThere)).toEqual([false, false, false]);
  });

  it('of a caller is no secret key, and that for secrets stays', () => {
    const id = newKeyId('caller');
    const secret = secretKey(id);
    destroyKeys(token.session, id, plain);
    destroyKeys(token.session, macKeyId, plain);
    expect(isThere(secret)).toBe(true);
    expect(token.count(CKO_SECRET_KEY, macKeyId)).toBe(1);
    destroy(secret);
  });

  it('is searched for if its cached handle belongs to another key by now, which stays', () => {
    const [id, other] = [newKeyId('caller'), newKeyId('caller')];
    const [own, wrong] = [make({ id }).handle, make({ id: other }).handle];
    destroyKeys(token.session, id, plain, wrong);
    expect([own, wrong].map(isThere)).toEqual([false, true]);
    expect(destroyIfStillThere(token.session, id, wrong)).toBe(false);
    expect(destroyIfStillThere(token.session, other, wrong)).toBe(true);
    expect(isThere(wrong)).toBe(false);
  });

  it.each(['C_GetAttributeValue', 'C_DestroyObject'] as const)('is searched where its kept handle is stale (%s)', (call) => {
    const id = newKeyId('caller');
    const { handle } = make({ id });
    token.failNext(call, ckr.OBJECT_HANDLE_INVALID);
    destroyKeys(token.session, id, plain, handle);
    expect(isThere(handle)).toBe(false);
  });

  it('is not reported as destroyed if the token fails', () => {
    const id = newKeyId('caller');
    const { handle } = make({ id });
    token.failNext('C_DestroyObject', ckr.DEVICE_ERROR);
    expect(() => destroyIfStillThere(token.session, id, handle)).toThrow(String(ckr.DEVICE_ERROR));
    vi.spyOn(token.module, 'C_GetAttributeValue').mockReturnValueOnce([]);
    expect(destroyIfStillThere(token.session, id, handle)).toBe(false);
    expect(isThere(handle)).toBe(true);
    destroy(handle);
  });
});
