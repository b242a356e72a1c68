import type { MechanismInfo, PKCS11 } from 'pkcs11js';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { keyTypes } from '../../src/config/key-types.ts';
import { capabilitiesOf, verdict, type Capabilities } from '../../src/token/host/capabilities.ts';
import { missingMechanisms, reportMechanisms } from '../../src/token/host/mechanism-report.ts';
import { OfferedMechanisms } from '../../src/token/host/offered-mechanisms.ts';
import { makeReport } from '../../src/token/host/reports.ts';
import { pkcs11js } from '../../src/token/host/session.ts';
import { ckr } from '../../src/token/pkcs11-faults.ts';
import { WireError } from '../../src/token/wire/fields.ts';
import { mechanismAbilities } from '../../src/token/wire/reports.ts';
import { pkcs11Error, profileWith } from './direct-token.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

const slot = Buffer.alloc(8);
const [sign, verify, generate, generateKeyPair] = [0x800, 0x2000, 0x8000, 0x10000];
const [ecKeyPair, ecdsa, rsaKeyPair, rsaPkcs, rsaPss, hmac, secretKey] = [0x1040, 0x1041, 0x0, 0x1, 0xd, 0x251, 0x350];
type Offer = Partial<MechanismInfo> | number;

/** All that the plain profile asks for. Without sizes, so that every size will do. */
const full: ReadonlyMap<number, Partial<MechanismInfo>> = new Map([
  [ecKeyPair, { flags: generateKeyPair }],
  [ecdsa, { flags: sign }],
  [rsaKeyPair, { flags: generateKeyPair }],
  [rsaPkcs, { flags: sign }],
  [rsaPss, { flags: sign }],
  [hmac, { flags: sign | verify }],
  [secretKey, { flags: generate }],
]);

/** A module whose token lists these; a number is the code of the error with which it tells nothing more. */
function moduleOf(offers: ReadonlyMap<number, Offer>): PKCS11 {
  const module = new pkcs11js.PKCS11();
  vi.spyOn(module, 'C_GetMechanismList').mockReturnValue([...offers.keys()]);
  vi.spyOn(module, 'C_GetMechanismInfo').mockImplementation((_slot, code) => {
    const offer = offers.get(code);
    if (typeof offer === 'number' || offer === undefined) throw pkcs11Error(offer ?? ckr.MECHANISM_INVALID);
    return { minKeySize: 0, maxKeySize: 0, flags: 0, ...offer };
  });
  return module;
}

const without = (...codes: number[]): Map<number, Offer> => new Map([...full].filter(([code]) => !codes.includes(code)));
const changed = (code: number, offer: Offer): Map<number, Offer> => new Map<number, Offer>([...full, [code, offer]]);
const capabilities = (offers: ReadonlyMap<number, Offer>, quirks: object = {}): Capabilities => {
  const profile = profileWith(quirks);
  return capabilitiesOf(new OfferedMechanisms(moduleOf(offers), slot, profile), profile);
};

describe('what follows from the mechanisms of a token', () => {
  const rsaTypes = keyTypes.filter((type) => type.startsWith('RSA-'));
  const ecTypes = keyTypes.filter((type) => !type.startsWith('RSA-'));
  const noEc = 'P-256, P-384 and P-521 keys cannot be used';
  const good = {
    rsaKeyPairMechanism: 'CKM_RSA_PKCS_KEY_PAIR_GEN',
    keyTypes,
    macFault: undefined,
    familyFaults: [],
    limits: [],
  };

  it('is every type of key where all are there', () => {
    expect(capabilities(full)).toEqual(good);
  });

  it.each<[string, Map<number, Offer>, Partial<Capabilities>]>([
    [
      'no EC keys are made',
      without(ecKeyPair),
      { keyTypes: rsaTypes, familyFaults: [`the token cannot make elliptic-curve keys (CKM_EC_KEY_PAIR_GEN): ${noEc}`] },
    ],
    [
      'EC keys are made by nobody',
      changed(ecKeyPair, { flags: sign }),
      { keyTypes: rsaTypes, familyFaults: [`the token cannot make elliptic-curve keys (CKM_EC_KEY_PAIR_GEN): ${noEc}`] },
    ],
    [
      'EC keys do not sign',
      changed(ecdsa, { flags: verify }),
      { keyTypes: rsaTypes, familyFaults: [`the token cannot sign with ECDSA on a digest (CKM_ECDSA): ${noEc}`] },
    ],
    [
      'no RSA keys are made',
      without(rsaKeyPair),
      {
        rsaKeyPairMechanism: undefined,
        keyTypes: ecTypes,
        familyFaults: ['the token cannot make RSA keys (CKM_RSA_PKCS_KEY_PAIR_GEN): RSA keys cannot be used'],
      },
    ],
    [
      'RSA keys do not sign',
      changed(rsaPkcs, { flags: verify }),
      {
        keyTypes: ecTypes,
        familyFaults: ['the token cannot sign with RSA PKCS #1 v1.5 (CKM_RSA_PKCS): RSA keys cannot be used'],
      },
    ],
    [
      'RSA keys do not sign with PSS',
      changed(rsaPss, { flags: verify }),
      { limits: ['the token cannot sign with RSASSA-PSS (CKM_RSA_PKCS_PSS): RSA keys sign with PKCS #1 v1.5 only'] },
    ],
    ['there is no MAC', without(hmac), { macFault: 'the token cannot make HMAC-SHA256 (CKM_SHA256_HMAC): passwords cannot be checked' }],
    [
      'MACs are made and not verified',
      changed(hmac, { flags: sign }),
      { macFault: 'the token makes HMAC-SHA256 (CKM_SHA256_HMAC) and does not verify it: set macKey.comparedBy to host in the profile' },
    ],
    [
      'no key for MACs is made',
      without(secretKey),
      { macFault: 'the token cannot make a key for HMAC-SHA256 (CKM_GENERIC_SECRET_KEY_GEN): passwords cannot be checked' },
    ],
  ])('where %s', (_what, offers, other) => {
    expect(capabilities(offers)).toEqual({ ...good, ...other });
  });

  it('is nothing of PSS where there are no RSA keys', () => {
    expect(capabilities(without(rsaKeyPair, rsaPss)).limits).toEqual([]);
  });

  it.each<[number, number, number, readonly string[]]>([
    [ecKeyPair, 256, 384, ['P-256', 'P-384']],
    [ecdsa, 384, 521, ['P-384', 'P-521']],
    [ecdsa, 257, 520, ['P-384']],
    [rsaKeyPair, 2048, 3072, ['RSA-2048', 'RSA-3072']],
    [rsaPkcs, 3072, 4096, ['RSA-3072', 'RSA-4096']],
    [rsaPkcs, 2049, 4095, ['RSA-3072']],
    // No sizes are named.
    [rsaPkcs, 2049, 0, rsaTypes],
  ])('is only the sizes that both mechanisms of a type take (%i: %i to %i)', (code, minKeySize, maxKeySize, expected) => {
    const offers = changed(code, { ...full.get(code), minKeySize, maxKeySize });
    const family = expected[0]?.startsWith('RSA-') === true ? rsaTypes : ecTypes;
    const { keyTypes: usable, familyFaults } = capabilities(offers);
    expect(usable.filter((type) => family.includes(type))).toEqual(expected);
    expect(familyFaults).toEqual([]);
  });

  it('is the first way to make RSA keys, in the order of the profile, that the token has', () => {
    const quirks = { rsaKeyPairMechanisms: ['CKM_RSA_X9_31_KEY_PAIR_GEN', 'CKM_RSA_PKCS_KEY_PAIR_GEN'] };
    const both = changed(0xa, { flags: generateKeyPair });
    expect(capabilities(both, quirks).rsaKeyPairMechanism).toBe('CKM_RSA_X9_31_KEY_PAIR_GEN');
    expect(capabilities(changed(0xa, { flags: sign }), quirks).rsaKeyPairMechanism).toBe('CKM_RSA_PKCS_KEY_PAIR_GEN');
    expect(capabilities(both).rsaKeyPairMechanism).toBe('CKM_RSA_PKCS_KEY_PAIR_GEN');
    expect(capabilities(without(rsaKeyPair), quirks).familyFaults).toEqual([
      'the token cannot make RSA keys (CKM_RSA_X9_31_KEY_PAIR_GEN, CKM_RSA_PKCS_KEY_PAIR_GEN): RSA keys cannot be used',
    ]);
  });

  it('is that the key for MACs is made by the mechanism of the profile', () => {
    const quirks = { macKey: { mechanism: 'CKM_NC_SHA256_HMAC_KEY_GEN' } };
    expect(capabilities(full, quirks).macFault).toBe(
      'the token cannot make a key for HMAC-SHA256 (CKM_NC_SHA256_HMAC_KEY_GEN): passwords cannot be checked',
    );
    expect(capabilities(changed(0xde436997, { flags: generate }), quirks).macFault).toBeUndefined();
  });
});

describe('the verdict', () => {
  const found = { ...{ rsaKeyPairMechanism: undefined, keyTypes: [], macFault: undefined }, familyFaults: ['family'], limits: ['limit'] };

  it('is that a family of keys less is a limit, unless no type is left', () => {
    expect(verdict(found, ['fault'], true)).toEqual({ missing: ['fault'], limits: ['family', 'limit'] });
    expect(verdict(found, ['fault'], false)).toEqual({
      missing: ['fault', 'family', 'no type of key can be used with this token'],
      limits: ['limit'],
    });
  });
});

describe('the mechanisms that a token offers', () => {
  it('are found with what they are good for, and those that it does not list or know are not offered', () => {
    const offers = without(rsaPss);
    offers.set(hmac, { flags: sign | verify | 1, minKeySize: 32, maxKeySize: 512 });
    offers.set(ecdsa, ckr.MECHANISM_INVALID);
    const { findings } = new OfferedMechanisms(moduleOf(offers), slot, profileWith());
    const nothing = { offered: false, hardware: false, minKeySize: 0, maxKeySize: 0 };
    const there = { ...nothing, offered: true };
    expect(findings).toEqual([
      { name: 'CKM_EC_KEY_PAIR_GEN', ...there },
      { name: 'CKM_ECDSA', ...nothing },
      { name: 'CKM_RSA_PKCS', ...there },
      { name: 'CKM_RSA_PKCS_PSS', ...nothing },
      { name: 'CKM_SHA256_HMAC', offered: true, hardware: true, minKeySize: 32, maxKeySize: 512 },
      { name: 'CKM_GENERIC_SECRET_KEY_GEN', ...there },
      { name: 'CKM_RSA_PKCS_KEY_PAIR_GEN', ...there },
    ]);
  });

  it('cannot be told where the token fails', () => {
    expect(() => new OfferedMechanisms(moduleOf(changed(ecdsa, ckr.DEVICE_ERROR)), slot, profileWith())).toThrow(`:${ckr.DEVICE_ERROR}`);
  });
});

describe('the report of mechanisms', () => {
  it('is of the given slot, even if no token is known in it, otherwise of the slot of the configured token', () => {
    const module = moduleOf(full);
    const slots = [0, 1, 2].map((number) => Buffer.of(number, 0, 0, 0, 0, 0, 0, 0));
    const listed = vi.spyOn(module, 'C_GetSlotList').mockReturnValue(slots);
    const asked = vi.spyOn(module, 'C_GetMechanismList');
    const none = (): never => {
      throw new Error('not to be opened');
    };
    const [first = slot, , last = slot] = slots;
    const outlook = { module, profile: profileWith(), slot: () => first, session: none, probe: none };
    makeReport('reportMechanisms', { slot: '2' }, outlook);
    expect(asked.mock.calls).toEqual([[last], [last]]);
    expect(listed.mock.calls).toEqual([[false]]);
    asked.mockClear();
    makeReport('reportMechanisms', {}, outlook);
    expect(asked.mock.calls).toEqual([[first], [first]]);
    expect(() => makeReport('reportMechanisms', { slot: '3' }, outlook)).toThrow(new RangeError('there is no slot 3'));
    expect(() => makeReport('reportSlots', { slot: '2' }, outlook)).toThrow(WireError);
  });

  it('lists each with its code, its name, its abilities, and what it is needed for', () => {
    const offers = new Map<number, Offer>([
      // Codes above 2^31 come as negative numbers as well.
      [0x80000142 - 2 ** 32, { flags: generateKeyPair }],
      [0xde436997, { flags: generate }],
      ...[...full].toReversed(),
      [0x7ffffff0, ckr.DEVICE_ERROR],
      [0x250, { flags: 0x400 | 1, minKeySize: 1, maxKeySize: 2 }],
    ]);
    const bare = { abilities: [], inHardware: false, keySize: { min: 0, max: 0 }, neededFor: null };
    expect(reportMechanisms(moduleOf(offers), slot, profileWith())).toEqual([
      { ...bare, code: '0x00000000', name: 'CKM_RSA_PKCS_KEY_PAIR_GEN', abilities: ['generateKeyPair'], neededFor: 'making RSA keys' },
      { ...bare, code: '0x00000001', name: 'CKM_RSA_PKCS', abilities: ['sign'], neededFor: 'RSA signatures (PKCS #1 v1.5)' },
      { ...bare, code: '0x0000000d', name: 'CKM_RSA_PKCS_PSS', abilities: ['sign'], neededFor: 'RSA signatures (PSS)' },
      { ...bare, code: '0x00000250', name: 'CKM_SHA256', abilities: ['digest'], inHardware: true, keySize: { min: 1, max: 2 } },
      { ...bare, code: '0x00000251', name: 'CKM_SHA256_HMAC', abilities: ['sign', 'verify'], neededFor: 'checking passwords' },
      {
        ...bare,
        code: '0x00000350',
        name: 'CKM_GENERIC_SECRET_KEY_GEN',
        abilities: ['generate'],
        neededFor: 'making the MAC key',
      },
      { ...bare, code: '0x00001040', name: 'CKM_EC_KEY_PAIR_GEN', abilities: ['generateKeyPair'], neededFor: 'making EC keys' },
      { ...bare, code: '0x00001041', name: 'CKM_ECDSA', abilities: ['sign'], neededFor: 'EC signatures' },
      { ...bare, code: '0x7ffffff0', name: 'unknown' },
      { ...bare, code: '0x80000142', name: 'vendor-defined', abilities: ['generateKeyPair'] },
      { ...bare, code: '0xde436997', name: 'vendor-defined', abilities: ['generate'] },
    ]);
  });

  it('says what the mechanisms of the profile are needed for, whoever defined them', () => {
    const offers = new Map<number, Offer>([
      [0x80000142 - 2 ** 32, { flags: generateKeyPair }],
      [0x80000143, { flags: generateKeyPair }],
      [0xde436997, { flags: generate }],
      [rsaKeyPair, { flags: generateKeyPair }],
    ]);
    const profile = profileWith({
      rsaKeyPairMechanisms: ['CKM_RSA_FIPS_186_3_AUX_PRIME_KEY_PAIR_GEN', 'CKM_RSA_FIPS_186_3_PRIME_KEY_PAIR_GEN'],
      macKey: { mechanism: 'CKM_NC_SHA256_HMAC_KEY_GEN' },
    });
    expect(reportMechanisms(moduleOf(offers), slot, profile).map(({ code, neededFor }) => [code, neededFor])).toEqual([
      ['0x00000000', null],
      ['0x80000142', 'making RSA keys'],
      ['0x80000143', 'making RSA keys'],
      ['0xde436997', 'making the MAC key'],
    ]);
  });

  it('names each ability by its flag', () => {
    const flags = [0x100, 0x200, 0x400, 0x800, 0x1000, 0x2000, 0x4000, 0x8000, 0x10000, 0x20000, 0x40000, 0x80000];
    const abilities = flags.map((each) => reportMechanisms(moduleOf(new Map([[1, { flags: each }]])), slot, profileWith())[0]?.abilities);
    expect(abilities).toEqual(mechanismAbilities.map((name) => [name]));
  });

  it('reports what is missing: each as its own fault, and both families only if no type of key is left', () => {
    const missing = (offers: ReadonlyMap<number, Offer>): string[] => missingMechanisms(moduleOf(offers), slot, profileWith());
    expect(missing(full)).toEqual([]);
    const oneType = new Map<number, Offer>([...without(rsaPkcs), [ecdsa, { flags: sign, minKeySize: 256, maxKeySize: 256 }]]);
    expect(missing(oneType)).toEqual([]);
    expect(missing(without(hmac, ecdsa))).toEqual(['the token cannot make HMAC-SHA256 (CKM_SHA256_HMAC): passwords cannot be checked']);
    expect(missing(without(rsaPkcs, ecdsa))).toEqual([
      'the token cannot sign with ECDSA on a digest (CKM_ECDSA): P-256, P-384 and P-521 keys cannot be used',
      'the token cannot sign with RSA PKCS #1 v1.5 (CKM_RSA_PKCS): RSA keys cannot be used',
      'no type of key can be used with this token',
    ]);
  });
});
