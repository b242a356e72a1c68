import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { keyTypes } from '../../src/config/key-types.ts';
import { makeMacKey } from '../../src/token/host/key-objects.ts';
import { algorithmsOf, reasonAgainst, tryKeyType, tryMac, tryRandom } from '../../src/token/host/probe-trials.ts';
import { probeToken } from '../../src/token/host/probe.ts';
import { pkcs11js } from '../../src/token/host/session.ts';
import { macKeyId } from '../../src/token/key-id.ts';
import { ckr } from '../../src/token/pkcs11-faults.ts';
import type { ProbeReport } from '../../src/token/wire/probe-report.ts';
import { DirectToken, pkcs11Error, profileWith } from './direct-token.ts';

const plain = profileWith();
const rules = { profile: plain, rsaKeyPairMechanism: pkcs11js.CKM_RSA_PKCS_KEY_PAIR_GEN };
const keys = [pkcs11js.CKO_PRIVATE_KEY, pkcs11js.CKO_SECRET_KEY, pkcs11js.CKO_PUBLIC_KEY];
let token: DirectToken;
let before: number;

const objects = (): number => keys.flatMap((value) => token.find({ type: pkcs11js.CKA_CLASS, value })).length;

beforeAll(() => {
  token = new DirectToken();
  before = objects();
});
afterEach(() => {
  vi.restoreAllMocks();
  // Whatever a trial finds, its keys go.
  expect(objects()).toBe(before);
});
afterAll(() => {
  token.remove();
});

const probe = (quirks: object = {}, full = false): ProbeReport =>
  probeToken(token.session, token.slot, profileWith(quirks), { full }).report;

/** What a signature, a MAC or a verification is instead of what the token answers, from this call on. */
function forge(name: 'C_Sign' | 'C_Verify', change: (value: unknown) => unknown, from = 0): void {
  const real = { C_Sign: token.module.C_Sign.bind(token.module), C_Verify: token.module.C_Verify.bind(token.module) };
  let calls = 0;
  const answer = (value: unknown): unknown => {
    calls += 1;
    return calls > from ? change(value) : value;
  };
  if (name === 'C_Sign') {
    vi.spyOn(token.module, name).mockImplementation((...given) => answer(real.C_Sign(...given)));
    return;
  }
  vi.spyOn(token.module, name).mockImplementation((...given) => {
    try {
      return answer(real.C_Verify(...given));
    } catch {
      return answer(false);
    }
  });
}

const flipped = (value: unknown): Buffer => {
  if (!Buffer.isBuffer(value)) throw new Error('no value');
  return Buffer.from(value.map((byte, index) => (index === 5 ? byte ^ 1 : byte)));
};

describe('the reason against a mechanism', () => {
  it.each([0x07, 0x10, 0x12, 0x13, 0x1b, 0x54, 0x62, 0x63, 0x68, 0x70, 0x71, 0xc0, 0xd0, 0xd1, 0x130, 0x140])(
    'is that the token says it cannot (%i), by the first line of what it says',
    (code) => {
      const error = Object.assign(new Error('CKR_CANNOT\n    at C_Sign'), { code });
      expect(
        reasonAgainst(() => {
          throw error;
        }),
      ).toBe('CKR_CANNOT');
    },
  );

  it.each([0x05, 0x06, 0x30, 0x31, 0x60, 0x82, 0x90, 0xb3, 0xe0, 0x101])('is not that the token fails at the moment (%i)', (code) => {
    expect(() =>
      reasonAgainst(() => {
        throw pkcs11Error(code);
      }),
    ).toThrow('CKR_SOMETHING');
  });

  it('is absent if it works, and other errors are not taken for one', () => {
    expect(reasonAgainst(() => undefined)).toBeUndefined();
    expect(() =>
      reasonAgainst(() => {
        throw new TypeError('a fault of ours');
      }),
    ).toThrow(TypeError);
  });
});

describe('the trial of a MAC', () => {
  const against = (): string | undefined =>
    reasonAgainst(() => {
      tryMac(token.session, plain, undefined);
    });

  it('succeeds if it is right', () => {
    expect(against()).toBeUndefined();
  });

  it.each<[string, 'C_Sign' | 'C_Verify', (value: unknown) => unknown, string]>([
    ['it is short', 'C_Sign', (mac) => (mac as Buffer).subarray(1), 'the MAC has 31 bytes'],
    ['the token does not verify what it made', 'C_Sign', flipped, 'the token refuses its own MAC'],
    ['the token verifies anything', 'C_Verify', () => true, 'the token accepts a wrong MAC'],
  ])('is refused if %s', (_name, call, change, reason) => {
    forge(call, change);
    expect(against()).toBe(reason);
  });

  it('is refused if the token cannot verify, and its key is destroyed', () => {
    token.failNext('C_VerifyInit', 0x68);
    expect(against()).toBe('CKR_SOMETHING:104');
    token.failNext('C_Verify', ckr.DEVICE_ERROR);
    expect(against).toThrow(`:${ckr.DEVICE_ERROR}`);
    // The operation that was begun goes with its session.
    token.renewSession();
  });
});

describe('the trial of random bytes', () => {
  it('are refused if they are all the same', () => {
    const random = vi.spyOn(token.module, 'C_GenerateRandom').mockReturnValue(Buffer.alloc(16, 7));
    const against = (): string | undefined =>
      reasonAgainst(() => {
        tryRandom(token.session);
      });
    expect(against()).toBe('the random bytes are all the same');
    random.mockReturnValue(Buffer.concat([Buffer.alloc(15, 7), Buffer.of(8)]));
    expect(against()).toBeUndefined();
    expect(random.mock.calls.map(([, bytes]) => bytes.length)).toEqual([16, 16]);
  });
});

describe('a type of key that is tried', () => {
  it.each(['P-256', 'RSA-2048'] as const)('is found right by OpenSSL: %s', (type) => {
    const algorithms = algorithmsOf(type, false);
    expect(tryKeyType(token.session, type, algorithms, rules)).toEqual(algorithms.map((algorithm) => ({ algorithm, against: undefined })));
    forge('C_Sign', flipped);
    expect(tryKeyType(token.session, type, algorithms, rules)).toEqual(
      algorithms.map((algorithm) => ({ algorithm, against: 'the signature does not verify' })),
    );
  });

  it('is believed if OpenSSL cannot verify: PSS with another hash in MGF1', () => {
    vi.spyOn(token.module, 'C_SignInit').mockReturnValue();
    vi.spyOn(token.module, 'C_Sign').mockImplementation(() => Buffer.alloc(256));
    const mixed = { scheme: 'RSA_PSS', hash: 'sha256', mgfHash: 'sha384', saltBytes: 32 } as const;
    const same = { ...mixed, mgfHash: 'sha256' } as const;
    expect(tryKeyType(token.session, 'RSA-2048', [mixed, same], rules).map(({ against }) => against)).toEqual([
      undefined,
      'the signature does not verify',
    ]);
  });

  it('has algorithms of each hash where all are tried, and PSS with mixed hashes for the first size alone', () => {
    const hashes = ['sha256', 'sha384', 'sha512'] as const;
    const salt = { sha256: 32, sha384: 48, sha512: 64 };
    const pss = (hash: (typeof hashes)[number], mgfHash: (typeof hashes)[number]): object => ({
      ...{ scheme: 'RSA_PSS', hash, mgfHash },
      saltBytes: salt[hash],
    });
    const pkcs1 = hashes.map((hash) => ({ scheme: 'RSA_PKCS1', hash }));
    expect(algorithmsOf('P-521', true)).toEqual(hashes.map((hash) => ({ scheme: 'ECDSA', hash })));
    expect(algorithmsOf('RSA-3072', true)).toEqual([...pkcs1, ...hashes.map((hash) => pss(hash, hash))]);
    expect(algorithmsOf('RSA-2048', true)).toEqual([...pkcs1, ...hashes.flatMap((hash) => hashes.map((mgf) => pss(hash, mgf)))]);
    expect(algorithmsOf('RSA-2048', false)).toEqual([{ scheme: 'RSA_PKCS1', hash: 'sha256' }, pss('sha256', 'sha256')]);
  });
});

describe('the probe of a token', () => {
  const stateOf = ({ keyTypes: states }: ProbeReport): string[] => states.map(({ type, state }) => `${type} ${state}`);

  it('tries P-256, MACs and random bytes, and believes the rest', () => {
    const generate = vi.spyOn(token.module, 'C_GenerateKeyPair');
    const report = probe();
    expect(report).toMatchObject({ vendor: 'Test', full: false, missing: [], limits: [], token: { label: 'test' } });
    expect(report.module.description).not.toBe('');
    expect(stateOf(report)).toEqual(keyTypes.map((type) => `${type} ${type === 'P-256' ? 'works' : 'offered'}`));
    expect(generate).toHaveBeenCalledOnce();
  });

  it('tries no session keys if the module creates none, and reports it', () => {
    const generate = vi.spyOn(token.module, 'C_GenerateKeyPair');
    const secret = vi.spyOn(token.module, 'C_GenerateKey');
    for (const full of [false, true]) {
      const report = probe({ sessionKeys: false }, full);
      expect(stateOf(report)).toEqual(keyTypes.map((type) => `${type} offered`));
      expect(report).toMatchObject({
        full,
        missing: [],
        limits: [
          `Test makes no session keys: ${full ? 'only P-256 keys and HMAC were tried, with keys on the token' : "the token's mechanisms were not tried"}`,
        ],
      });
      const calls = full ? 1 : 0;
      expect([generate.mock.calls.length, secret.mock.calls.length]).toEqual([calls, calls]);
    }
  });

  it('reports a type as missing if it is offered and does not work', () => {
    forge('C_Sign', flipped, 1);
    const report = probe();
    expect(stateOf(report)[keyTypes.indexOf('P-256')]).toBe('P-256 missing');
    expect(report).toMatchObject({
      missing: [],
      limits: ['P-256 keys cannot be used: the token offers them, but a trial failed with the signature does not verify'],
    });
  });

  it('reports a type as missing if it is offered and cannot be created', () => {
    token.failNext('C_GenerateKeyPair', 0x70);
    expect(probe().limits).toEqual(['P-256 keys cannot be used: the token offers them, but a trial failed with CKR_SOMETHING:112']);
  });

  it('ends if the token has a temporary fault', () => {
    token.failNext('C_GenerateKeyPair', ckr.DEVICE_REMOVED);
    expect(() => probe()).toThrow(`:${ckr.DEVICE_REMOVED}`);
    token.failNext('C_VerifyInit', ckr.DEVICE_ERROR);
    expect(() => probe()).toThrow(`:${ckr.DEVICE_ERROR}`);
  });

  it.each([ckr.DEVICE_MEMORY, ckr.FUNCTION_FAILED, 0x80000383])(
    'needs no new key on a token that is in use: one that is full (0x%s) serves with those that it has',
    (code) => {
      token.failNext('C_GenerateKeyPair', code);
      const secret = vi.spyOn(token.module, 'C_GenerateKey');
      const report = probe();
      expect(report.missing).toEqual([]);
      expect(report.limits).toEqual([`P-256 keys were not tried: the token makes no key now, CKR_SOMETHING:${code}`]);
      expect(stateOf(report)[keyTypes.indexOf('P-256')]).toBe('P-256 offered');
      expect(secret).not.toHaveBeenCalled();
      // A full probe is an operator's question, and is answered.
      token.failNext('C_GenerateKeyPair', code);
      expect(() => probe({}, true)).toThrow(`:${code}`);
    },
  );

  it('finds missing requirements of every service: MACs, one MAC key, random bytes', () => {
    const another = makeMacKey(token.session, { id: macKeyId }, plain);
    forge('C_Verify', () => true);
    vi.spyOn(token.module, 'C_GenerateRandom').mockReturnValue(Buffer.alloc(16));
    expect(probe().missing).toEqual([
      'the token offers HMAC-SHA256 (CKM_SHA256_HMAC) but it fails, the token accepts a wrong MAC: passwords cannot be checked',
      expect.stringContaining('it has 2 MAC keys'),
      'the token returns no random bytes (C_GenerateRandom), the random bytes are all the same: passwords cannot be generated',
    ]);
    token.module.C_DestroyObject(token.session.handle, another);
  });

  it('says that a token offers no MACs instead of trying one', () => {
    const list = token.module.C_GetMechanismList(token.slot);
    vi.spyOn(token.module, 'C_GetMechanismList').mockReturnValue(list.filter((code) => code !== pkcs11js.CKM_SHA256_HMAC));
    const secret = vi.spyOn(token.module, 'C_GenerateKey');
    expect(probe().missing).toEqual(['the token cannot make HMAC-SHA256 (CKM_SHA256_HMAC): passwords cannot be checked']);
    expect(secret).not.toHaveBeenCalled();
  });

  /** Types that are not offered are not tried. */
  function offerOnly(kept: 'EC' | 'RSA'): void {
    const list = token.module.C_GetMechanismList(token.slot);
    const hidden = kept === 'EC' ? pkcs11js.CKM_RSA_PKCS : pkcs11js.CKM_ECDSA;
    vi.spyOn(token.module, 'C_GetMechanismList').mockReturnValue(list.filter((code) => code !== hidden));
  }

  it('has algorithms that a type cannot use as limits', () => {
    offerOnly('EC');
    const real = token.module.C_Sign.bind(token.module);
    let code: number = ckr.DEVICE_ERROR;
    // Digests of SHA-384 are refused.
    vi.spyOn(token.module, 'C_Sign').mockImplementation((session, data, value) => {
      const made = real(session, data, value);
      if (data.length === 48) throw pkcs11Error(code);
      return made;
    });
    expect(() => probe({}, true)).toThrow('CKR_SOMETHING');
    code = 0x71;
    const report = probe({}, true);
    expect(report.limits.slice(1)).toEqual(
      ['P-256', 'P-384', 'P-521'].map((type) => `${type} keys cannot sign ECDSA with sha384: CKR_SOMETHING:113`),
    );
    expect(stateOf(report).filter((line) => line.startsWith('P-'))).toEqual(['P-256 works', 'P-384 works', 'P-521 works']);
  });
});
