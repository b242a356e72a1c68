import { createHmac, createPublicKey, verify } from 'node:crypto';
import type { Handle } from 'pkcs11js';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { destroyKeys } from '../../src/token/host/key-objects.ts';
import { hmacTemplate } from '../../src/token/host/key-templates.ts';
import { NoSuchKey } from '../../src/token/host/find-objects.ts';
import { ProviderKeys } from '../../src/token/host/provider-keys.ts';
import { pkcs11Code, pkcs11js } from '../../src/token/host/session.ts';
import { newKeyId, type KeyId } from '../../src/token/key-id.ts';
import { ckr } from '../../src/token/pkcs11-faults.ts';
import { macHashes, type MacHash, type MessageAlgorithm, type MessageKeyType } from '../../src/token/service-keys.ts';
import { operations } from '../../src/token/wire/frames.ts';
import { writeCreateMessageKey, writeSignMessage, writeVerifyMac } from '../../src/token/wire/provider-messages.ts';
import { DirectToken, profileWith } from './direct-token.ts';

const plain = profileWith();
const hashBytes = { sha256: 32, sha384: 48, sha512: 64 } as const;
const mechanisms = { sha256: 0x251, sha384: 0x261, sha512: 0x271 } as const;
const message = Buffer.from('document');
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

/** The keys of one thread, and what it kept of their handles. */
function provider(profile = plain): {
  readonly kept: Map<KeyId, Handle>;
  readonly made: KeyId[];
  readonly found: KeyId[];
  readonly create: (id: KeyId, type: MessageKeyType) => Buffer | undefined;
  readonly sign: (id: KeyId, algorithm: MessageAlgorithm, text?: Buffer) => Buffer;
  readonly verifies: (id: KeyId, hash: MacHash, mac: Buffer, text?: Buffer) => boolean;
} {
  const kept = new Map<KeyId, Handle>();
  const [made, found]: [KeyId[], KeyId[]] = [[], []];
  const store = {
    get: (id: KeyId) => kept.get(id),
    made: (id: KeyId, handle: Handle) => {
      made.push(id);
      kept.set(id, handle);
    },
    found: (id: KeyId, handle: Handle) => {
      found.push(id);
      kept.set(id, handle);
    },
  };
  const keys = new ProviderKeys(() => token.session, store, profile);
  return {
    ...{ kept, made, found },
    create: (id, type) => keys.run(operations.createMessageKey, writeCreateMessageKey(id, type)),
    // It is another buffer at each call.
    sign: (id, algorithm, text = message) => Buffer.from(keys.run(operations.signMessage, writeSignMessage(id, algorithm, text)) ?? []),
    verifies: (id, hash, mac, text = message) => {
      const answer = keys.run(operations.verifyMac, writeVerifyMac(id, hash, text, mac));
      expect(answer).toHaveLength(1);
      return answer?.[0] === 1;
    },
  };
}

/** An HMAC key whose value is known. */
function imported(id: KeyId, hash: MacHash, value: Buffer): void {
  const how = { label: 'signetd', bytes: value.length, mechanism: mechanisms[hash] };
  const template = hmacTemplate({ id }, how, plain).filter(({ type }) => type !== pkcs11js.CKA_VALUE_LEN);
  token.module.C_CreateObject(token.session.handle, [...template, { type: pkcs11js.CKA_VALUE, value }]);
}

describe('an HMAC key of the service', () => {
  it.each(macHashes)('makes and verifies the MAC that everybody else makes by %s, also of no bytes', (hash) => {
    const { sign, verifies, found, made } = provider();
    const id = newKeyId('mac');
    const value = Buffer.alloc(hashBytes[hash], 7);
    imported(id, hash, value);
    for (const text of [message, Buffer.alloc(0)]) {
      const mac = createHmac(hash, value).update(text).digest();
      expect(sign(id, { scheme: 'HMAC', hash }, text)).toEqual(mac);
      expect(verifies(id, hash, mac, text)).toBe(true);
      expect(verifies(id, hash, Buffer.from(mac.map((byte, index) => (index === 0 ? byte ^ 1 : byte))), text)).toBe(false);
      expect(verifies(id, hash, mac, Buffer.from('another'))).toBe(false);
      for (const wrong of [mac.subarray(1), Buffer.concat([mac, Buffer.of(0)]), Buffer.alloc(0)])
        expect(verifies(id, hash, wrong, text)).toBe(false);
    }
    expect([found, made]).toEqual([[id], []]);
    destroyKeys(token.session, id, plain);
  });

  it.each(macHashes)('is made for one HMAC alone, by %s, of as many bytes as it is asked for', (hash) => {
    const { create, made, kept, sign, verifies } = provider();
    const id = newKeyId('mac');
    expect(create(id, { scheme: 'HMAC', hash, bytes: 100 })).toHaveLength(0);
    expect(made).toEqual([id]);
    const handle = kept.get(id) ?? Buffer.alloc(0);
    const allowed = Buffer.alloc(8);
    allowed.writeUInt32LE(mechanisms[hash]);
    expect([pkcs11js.CKA_VALUE_LEN, pkcs11js.CKA_ALLOWED_MECHANISMS, pkcs11js.CKA_LABEL].map((type) => token.read(handle, type))).toEqual([
      Buffer.of(100, 0, 0, 0, 0, 0, 0, 0),
      allowed,
      Buffer.from('signetd'),
    ]);
    expect(verifies(id, hash, sign(id, { scheme: 'HMAC', hash }))).toBe(true);
    destroyKeys(token.session, id, plain);
  });

  it.each<[string, object, MessageKeyType & { scheme: 'HMAC' }, boolean]>([
    ['has one hash', { keyType: 'CKK_SHA256_HMAC' }, { scheme: 'HMAC', hash: 'sha384', bytes: 48 }, true],
    ['has one hash', { keyType: 'CKK_SHA256_HMAC' }, { scheme: 'HMAC', hash: 'sha256', bytes: 48 }, false],
    ['has one length', { omit: ['CKA_VALUE_LEN'] }, { scheme: 'HMAC', hash: 'sha256', bytes: 48 }, true],
    ['has one length', { omit: ['CKA_VALUE_LEN'] }, { scheme: 'HMAC', hash: 'sha384', bytes: 32 }, false],
    ['has both', {}, { scheme: 'HMAC', hash: 'sha512', bytes: 48 }, false],
  ])('is refused if the module %s: %j asked for %j', (_what, macKey, type, isRefused) => {
    const generate = vi.spyOn(token.module, 'C_GenerateKey').mockImplementation(() => Buffer.alloc(8));
    const { create, made } = provider(profileWith({ macKey }));
    const id = newKeyId('mac');
    vi.spyOn(token.module, 'C_GetAttributeValue').mockReturnValue([{ type: pkcs11js.CKA_ID, value: Buffer.from(id, 'hex') }]);
    if (isRefused) expect(() => create(id, type)).toThrow(new RangeError(`Test has no HMAC keys of ${type.bytes} bytes for ${type.hash}`));
    else expect(create(id, type)).toHaveLength(0);
    expect([generate.mock.calls.length, made.length]).toEqual(isRefused ? [0, 0] : [1, 1]);
  });

  it.each([
    ['wrong', ckr.SIGNATURE_INVALID],
    ['of another length', ckr.SIGNATURE_LEN_RANGE],
  ])('takes a MAC that the token says is %s for wrong, and no other answer', (_what, code) => {
    const { create, sign, verifies } = provider();
    const id = newKeyId('mac');
    create(id, { scheme: 'HMAC', hash: 'sha256', bytes: 32 });
    const mac = sign(id, { scheme: 'HMAC', hash: 'sha256' });
    const answered = (answer: number): void => {
      const real = token.module.C_Verify.bind(token.module);
      vi.spyOn(token.module, 'C_Verify').mockImplementationOnce((...given) => {
        real(...given);
        throw Object.assign(new Error(`CKR_SOMETHING:${answer}`), { code: answer });
      });
    };
    answered(code);
    expect(verifies(id, 'sha256', mac)).toBe(false);
    answered(ckr.DEVICE_ERROR);
    expect(() => verifies(id, 'sha256', mac)).toThrow(String(ckr.DEVICE_ERROR));
    expect(verifies(id, 'sha256', mac)).toBe(true);
    destroyKeys(token.session, id, plain);
  });
});

describe('an Ed25519 key of the service', () => {
  it('signs messages that OpenSSL verifies, including an empty one', () => {
    const { create, made, sign } = provider();
    const id = newKeyId('general');
    const key = createPublicKey({ key: create(id, { scheme: 'Ed25519' }) ?? Buffer.alloc(0), format: 'der', type: 'spki' });
    expect([made, key.asymmetricKeyType]).toEqual([[id], 'ed25519']);
    for (const text of [message, Buffer.alloc(0)]) expect(verify(null, text, key, sign(id, { scheme: 'Ed25519' }, text))).toBe(true);
    destroyKeys(token.session, id, plain);
  });

  it('is for EdDSA alone', () => {
    const { create, kept } = provider();
    const id = newKeyId('general');
    create(id, { scheme: 'Ed25519' });
    const allowed = token.read(kept.get(id) ?? Buffer.alloc(0), pkcs11js.CKA_ALLOWED_MECHANISMS);
    expect(allowed).toEqual(Buffer.of(0x57, 0x10, 0, 0, 0, 0, 0, 0));
    destroyKeys(token.session, id, plain);
  });

  it('is refused if the token has no value for its public half, and does not stay', () => {
    const { create, made } = provider();
    const id = newKeyId('general');
    vi.spyOn(token.module, 'C_GetAttributeValue').mockReturnValueOnce([]);
    expect(() => create(id, { scheme: 'Ed25519' })).toThrow('the token returned no public key');
    expect(made).toEqual([]);
    expect(token.count(pkcs11js.CKO_PRIVATE_KEY, id)).toBe(0);
  });
});

describe('the handle of a key of the service', () => {
  it.each([ckr.KEY_HANDLE_INVALID, ckr.OBJECT_HANDLE_INVALID])('is looked for once more where it is stale (%i)', (code) => {
    const { create, sign, verifies, found } = provider();
    const [mac, signer] = [newKeyId('mac'), newKeyId('general')];
    create(mac, { scheme: 'HMAC', hash: 'sha256', bytes: 32 });
    create(signer, { scheme: 'Ed25519' });
    token.failNext('C_SignInit', code);
    const value = sign(mac, { scheme: 'HMAC', hash: 'sha256' });
    token.failNext('C_SignInit', code);
    expect(sign(signer, { scheme: 'Ed25519' })).toHaveLength(64);
    token.failNext('C_VerifyInit', code);
    expect(verifies(mac, 'sha256', value)).toBe(true);
    expect(found).toEqual([mac, signer, mac]);
    for (const id of [mac, signer]) destroyKeys(token.session, id, plain);
  });

  it('is not looked up if the token fails otherwise', () => {
    const { create, sign, found } = provider();
    const id = newKeyId('general');
    create(id, { scheme: 'Ed25519' });
    token.failNext('C_SignInit', ckr.DEVICE_ERROR);
    let code: number | undefined;
    try {
      sign(id, { scheme: 'Ed25519' });
    } catch (error) {
      code = pkcs11Code(error);
    }
    expect([code, found]).toEqual([ckr.DEVICE_ERROR, []]);
    destroyKeys(token.session, id, plain);
  });

  it('is none if the token does not have the key, or has another kind of it', () => {
    const { sign, create, kept } = provider();
    const id = newKeyId('general');
    expect(() => sign(id, { scheme: 'Ed25519' })).toThrow(NoSuchKey);
    create(id, { scheme: 'Ed25519' });
    kept.clear();
    expect(() => sign(id, { scheme: 'HMAC', hash: 'sha256' })).toThrow(NoSuchKey);
    destroyKeys(token.session, id, plain);
  });
});

it('does not handle other requests', () => {
  const keys = new ProviderKeys(
    () => token.session,
    { get: () => undefined, made: vi.fn<() => void>(), found: vi.fn<() => void>() },
    plain,
  );
  for (const code of [operations.sign, operations.reportSlots, 99]) expect(keys.run(code, Buffer.alloc(0))).toBeUndefined();
});
