import type { AttributeResult, Handle } from 'pkcs11js';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { inventoryPage } from '../../src/token/host/inventory.ts';
import { createKeyPair } from '../../src/token/host/key-objects.ts';
import { pkcs11js } from '../../src/token/host/session.ts';
import { macKeyId, newKeyId, type KeyId } from '../../src/token/key-id.ts';
import { DirectToken, pkcs11Error, profileWith } from './direct-token.ts';

describe('the inventory of a token', () => {
  let token: DirectToken;

  beforeAll(() => {
    token = new DirectToken();
  });
  afterAll(() => {
    token.remove();
  });

  it('says of each key what it is and what it may do, and of other objects with identifiers of ours that they are no keys', () => {
    const rules = { profile: profileWith(), rsaKeyPairMechanism: pkcs11js.CKM_RSA_PKCS_KEY_PAIR_GEN };
    const [ec, rsa, data] = [newKeyId('caller'), newKeyId('general'), newKeyId('general')];
    createKeyPair(token.session, { id: ec }, 'P-521', rules);
    createKeyPair(token.session, { id: rsa }, 'RSA-3072', rules);
    token.module.C_CreateObject(token.session.handle, [
      { type: pkcs11js.CKA_CLASS, value: pkcs11js.CKO_CERTIFICATE },
      { type: pkcs11js.CKA_CERTIFICATE_TYPE, value: 0 },
      { type: pkcs11js.CKA_TOKEN, value: true },
      { type: pkcs11js.CKA_PRIVATE, value: false },
      { type: pkcs11js.CKA_ID, value: Buffer.from(data, 'hex') },
      { type: pkcs11js.CKA_LABEL, value: 'a certificate' },
      { type: pkcs11js.CKA_SUBJECT, value: Buffer.of(0x30, 0) },
      { type: pkcs11js.CKA_VALUE, value: Buffer.of(0x30, 0) },
    ]);
    // It is no object of the token.
    createKeyPair(token.session, 'session', 'P-256', rules);
    const { objects, foreign, next } = inventoryPage(token.session, undefined);
    const safe = { sensitive: true, extractable: false, sign: true };
    const none = { sensitive: null, extractable: null, sign: null };
    expect(
      objects.toSorted((one, other) => one.kind.localeCompare(other.kind, 'en') || one.owner.localeCompare(other.owner, 'en')),
    ).toEqual([
      { kind: 'certificate', owner: 'service', id: data, label: 'a certificate', type: '', ...none },
      { kind: 'private key', owner: 'caller', id: ec, label: 'signetd', type: 'P-521', ...safe },
      { kind: 'private key', owner: 'service', id: rsa, label: 'signetd', type: 'RSA-3072', ...safe },
      { kind: 'secret key', owner: 'service', id: macKeyId, label: 'signetd secrets', type: 'generic secret, 32 bytes', ...safe },
    ]);
    expect([foreign, next]).toEqual([{}, null]);
  });
});

describe('a page of the inventory', () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  type Attributes = Readonly<Record<number, Buffer>>;
  const ulong = (value: number): Buffer => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(BigInt(value));
    return bytes;
  };

  /** A module whose token has these objects, each with the handle that it stands under. */
  function pageOf(objects: ReadonlyMap<number, Attributes>, from?: string): ReturnType<typeof inventoryPage> {
    const module = new pkcs11js.PKCS11();
    let left = [...objects.keys()].map(ulong);
    vi.spyOn(module, 'C_FindObjectsInit').mockImplementation((_session, template) => {
      expect(template).toEqual([{ type: pkcs11js.CKA_TOKEN, value: true }]);
    });
    vi.spyOn(module, 'C_FindObjectsFinal').mockReturnValue();
    vi.spyOn(module, 'C_GetSessionInfo').mockReturnValue({ slotID: ulong(0), state: 3, flags: 6, deviceError: 0 });
    vi.spyOn(module, 'C_FindObjects').mockImplementation((_session: Handle, most?: number): Handle[] & Handle => {
      const batch = left.slice(0, most);
      left = left.slice(batch.length);
      return batch as Handle[] & Handle;
    });
    vi.spyOn(module, 'C_GetAttributeValue').mockImplementation((_session, object, template): AttributeResult[] =>
      template.map(({ type }) => {
        const value = objects.get(Number(object.readBigUInt64LE()))?.[type];
        if (value === undefined) throw pkcs11Error(0x12);
        return { type, value };
      }),
    );
    return inventoryPage({ module, handle: ulong(1) }, from);
  }

  const key = (id: KeyId, more: Attributes = {}): Attributes => ({
    [pkcs11js.CKA_CLASS]: ulong(pkcs11js.CKO_PRIVATE_KEY),
    [pkcs11js.CKA_ID]: Buffer.from(id, 'hex'),
    ...more,
  });
  const only = (more: Attributes): ReturnType<typeof inventoryPage>['objects'][number] | undefined =>
    pageOf(new Map([[1, key(newKeyId('caller'), more)]])).objects[0];

  it('has 200 objects in the order of their handles, and says where the next one begins', () => {
    const ids = Array.from({ length: 450 }, () => newKeyId('caller'));
    // The token gives them in another order, and handles of different lengths.
    const objects = new Map(ids.map((id, index) => [3 * index + 1, key(id)] as const).toReversed());
    const pages: string[][] = [];
    let from: string | undefined;
    do {
      const page = pageOf(objects, from);
      pages.push(page.objects.map(({ id }) => id));
      from = page.next ?? undefined;
    } while (from !== undefined);
    expect(pages).toEqual([ids.slice(0, 200), ids.slice(200, 400), ids.slice(400)]);
    expect(pageOf(objects).next).toBe((3 * 200 + 1).toString(16).padStart(16, '0'));
    expect(pageOf(new Map([...objects].slice(0, 200))).next).toBeNull();
  });

  it('counts objects of others by their kind', () => {
    const kinds = [
      pkcs11js.CKO_DATA,
      pkcs11js.CKO_CERTIFICATE,
      pkcs11js.CKO_PUBLIC_KEY,
      pkcs11js.CKO_PUBLIC_KEY,
      pkcs11js.CKO_PRIVATE_KEY,
      pkcs11js.CKO_SECRET_KEY,
      pkcs11js.CKO_HW_FEATURE,
    ];
    const objects = kinds.map((kind, index): [number, Attributes] => [
      index,
      { [pkcs11js.CKA_CLASS]: ulong(kind), [pkcs11js.CKA_ID]: Buffer.of(0x77) },
    ]);
    expect(pageOf(new Map([...objects, [99, {}]]))).toEqual({
      objects: [],
      foreign: { data: 1, certificate: 1, 'public key': 2, 'private key': 1, 'secret key': 1, 'other object': 2 },
      next: null,
    });
  });

  it.each([
    ['RSA-2048', pkcs11js.CKK_RSA, { [pkcs11js.CKA_MODULUS]: Buffer.alloc(256, 0xff) }],
    ['RSA-2048', pkcs11js.CKK_RSA, { [pkcs11js.CKA_MODULUS]: Buffer.concat([Buffer.of(0), Buffer.alloc(256, 0xff)]) }],
    ['RSA', pkcs11js.CKK_RSA, {}],
    ['P-256', pkcs11js.CKK_EC, { [pkcs11js.CKA_EC_PARAMS]: Buffer.from('06082a8648ce3d030107', 'hex') }],
    ['P-384', pkcs11js.CKK_EC, { [pkcs11js.CKA_EC_PARAMS]: Buffer.from('06052b81040022', 'hex') }],
    ['P-521', pkcs11js.CKK_EC, { [pkcs11js.CKA_EC_PARAMS]: Buffer.from('06052b81040023', 'hex') }],
    ['EC, another curve', pkcs11js.CKK_EC, { [pkcs11js.CKA_EC_PARAMS]: Buffer.from('06052b8104000a', 'hex') }],
    ['EC, another curve', pkcs11js.CKK_EC, {}],
    ['generic secret, 48 bytes', pkcs11js.CKK_GENERIC_SECRET, { [pkcs11js.CKA_VALUE_LEN]: ulong(48) }],
    ['generic secret', pkcs11js.CKK_GENERIC_SECRET, {}],
    ['type 0x2b', 0x2b, {}],
    ['unknown', undefined, {}],
  ])('names the type of a key: %s', (name, type, more) => {
    const attributes = type === undefined ? more : { ...more, [pkcs11js.CKA_KEY_TYPE]: ulong(type) };
    expect(only(attributes)?.type).toBe(name);
  });

  it.each([
    [Buffer.of(0), false],
    [Buffer.of(1), true],
    [Buffer.of(0xff), true],
    [Buffer.of(), null],
    [Buffer.of(1, 1), null],
  ])('tells yes, no, and what the token does not tell: %j', (value, told) => {
    const attributes = { [pkcs11js.CKA_SENSITIVE]: value, [pkcs11js.CKA_EXTRACTABLE]: value, [pkcs11js.CKA_SIGN]: value };
    expect(only(attributes)).toMatchObject({ sensitive: told, extractable: told, sign: told, label: '' });
    expect(only({})).toMatchObject({ sensitive: null, extractable: null, sign: null, label: '' });
  });

  it('treats a number of another length as absent', () => {
    expect(only({ [pkcs11js.CKA_KEY_TYPE]: Buffer.of(0x10) })?.type).toBe('unknown');
  });
});
