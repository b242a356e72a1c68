import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import * as der from '../../src/asn1/der.ts';
import {
  isIdentityKey,
  keyIdBytes,
  keyIdLength,
  keyIdOf,
  keyOwner,
  keyPurpose,
  keyTrial,
  lacksPurpose,
  macKeyId,
  macKeyIdOf,
  newKeyId,
  parseKeyId,
  withPurpose,
} from '../../src/token/key-id.ts';
import { signing } from '../../src/token/host/mechanisms.ts';
import { algorithmsOf } from '../../src/token/host/probe-trials.ts';
import { ecPublicKeyInfo, ed25519PublicKeyInfo } from '../../src/token/host/public-key-info.ts';
import {
  changeIsRefused,
  ckr,
  faultKindOf,
  handleIsStale,
  pinIsRefused,
  requestIsRefused,
  tokenIsFull,
} from '../../src/token/pkcs11-faults.ts';
import { claimOutcomes, secretKinds, type Proof, type SecretKind } from '../../src/token/token.ts';
import { FieldReader, FieldWriter, WireError, writeList } from '../../src/token/wire/fields.ts';
import {
  answerOf,
  encodeAnswer,
  encodeFrame,
  FrameSplitter,
  maxFrameBytes,
  maxLongRequestBytes,
  maxRequestBytes,
  operations,
  statuses,
} from '../../src/token/wire/frames.ts';
import * as messages from '../../src/token/wire/messages.ts';
import { keysInAnswerMax, macInput, readClaimKey, readListKeys, writeClaimKey, writeListKeys } from '../../src/token/wire/messages.ts';
import * as provider from '../../src/token/wire/provider-messages.ts';
import { readProofs, secretKindOf, writeProofs } from '../../src/token/wire/proofs.ts';
import { readServiceSign, readSign, writeServiceSign, writeSign } from '../../src/token/wire/sign-message.ts';

const u32 = (value: number): Buffer => new FieldWriter().u32(value).finish();
/** Of a frame whose body comes later. */
const header = (length: number): Buffer => Buffer.concat([u32(length), u32(7), Buffer.of(3)]);

describe('a frame', () => {
  it('has 5 bytes after its length at least, and a mebibyte at most', () => {
    const [empty] = new FrameSplitter().push(encodeFrame(7, 3, Buffer.alloc(0)));
    expect(empty).toEqual({ id: 7, code: 3, body: Buffer.alloc(0) });
    const [full] = new FrameSplitter().push(encodeFrame(7, 3, Buffer.alloc(maxFrameBytes - 5, 1)));
    expect(full?.body.length).toBe(maxFrameBytes - 5);
    for (const length of [0, 4, maxFrameBytes + 1, 0xffffffff]) expect(() => new FrameSplitter().push(header(length))).toThrow(WireError);
    // A length is judged before the rest has come.
    for (const length of [6, maxFrameBytes]) expect(new FrameSplitter().push(header(length))).toEqual([]);
  });

  it('of an answer begins with the time that the token took', () => {
    const [frame] = new FrameSplitter().push(encodeAnswer(7, 2, 1234, Buffer.from('body')));
    if (frame === undefined) throw new Error('one frame');
    expect(answerOf(frame)).toEqual({ id: 7, status: 2, tokenMicroseconds: 1234, body: Buffer.from('body') });
    const [long] = new FrameSplitter().push(encodeAnswer(7, 2, 2 ** 40, Buffer.alloc(0)));
    expect(long === undefined ? undefined : answerOf(long).tokenMicroseconds).toBe(0xffffffff);
    expect(() => answerOf({ id: 1, code: 0, body: Buffer.alloc(3) })).toThrow(WireError);
    expect(answerOf({ id: 1, code: 0, body: Buffer.alloc(4) }).body.length).toBe(0);
  });
});

describe('the numbers of the protocol', () => {
  it('are those of its version 10, by which a daemon and a host of another release understand each other', () => {
    expect(operations).toEqual({
      ...{ createKey: 1, destroyKey: 2, sign: 3, verifyProof: 4, makeMac: 5, random: 6, listKeys: 7, claimKey: 8, checkMacKey: 9 },
      ...{
        makeMacKey: 10,
        accountHeads: 11,
        destroyMacKey: 12,
        findKeys: 13,
        signAsService: 16,
        assignPurpose: 17,
        signAsIdentity: 18,
        createMessageKey: 32,
        signMessage: 33,
        verifyMac: 34,
      },
      ...{ reportSlots: 48, reportMechanisms: 49, reportInventory: 50, reportProbe: 51 },
    });
    expect(statuses).toEqual({
      ok: 0,
      wrongSecret: 1,
      forbidden: 2,
      fault: 3,
      malformed: 4,
      noSuchKey: 5,
      noMacKey: 6,
      heldBack: 7,
      lost: 8,
      notYet: 9,
    });
  });

  it('leave room in a frame for what stands around a body', () => {
    expect([maxFrameBytes, maxRequestBytes, maxLongRequestBytes]).toEqual([1 << 20, (1 << 20) - 64, (64 << 20) - 64]);
    expect(provider.maxMessageBytes).toBe((1 << 20) - 1024);
    const longest = header((64 << 20) - 64 + 5);
    longest[8] = operations.signAsService;
    expect(new FrameSplitter(operations.signAsService).push(longest)).toEqual([]);
    for (const [code, length] of [
      [operations.signAsService, (64 << 20) + 1],
      [operations.sign, maxFrameBytes + 1],
    ] as const) {
      const long = header(length);
      long[8] = code;
      expect(() => new FrameSplitter(operations.signAsService).push(long)).toThrow(WireError);
    }
  });
});

describe('fields', () => {
  it('are read to the last byte, and not beyond', () => {
    const bytes = new FieldWriter().u8(1).u32(2).bytes(Buffer.from('three')).finish();
    const reader = new FieldReader(bytes);
    expect([reader.u8(), reader.u32()]).toEqual([1, 2]);
    expect(() => reader.end()).toThrow(WireError);
    expect(reader.bytes().toString()).toBe('three');
    reader.end();
    expect(() => reader.u8()).toThrow(WireError);
    expect(() => new FieldReader(bytes.subarray(0, -1)).list()).toThrow(WireError);
  });

  it('of a list are as many as it says, and fit into their frame', () => {
    const list = writeList([Buffer.from('a'), Buffer.alloc(0)], [9]);
    const reader = new FieldReader(list);
    expect(reader.u8()).toBe(9);
    expect(reader.list()).toEqual([Buffer.from('a'), Buffer.alloc(0)]);
    reader.end();
    expect(() => new FieldReader(u32(5)).list()).toThrow('longer than its frame');
    expect(() => new FieldReader(u32(4)).list()).toThrow('ends early');
  });
});

describe('proofs', () => {
  const proof = (kind: SecretKind = 'PASSWORD'): Proof => ({
    kind,
    salt: Buffer.alloc(16, 1),
    secret: Buffer.from('secret'),
    scope: Buffer.alloc(32, 3),
    mac: Buffer.alloc(32, 2),
  });
  const candidates = (count: number) => Array.from({ length: count }, () => ({ ...proof(), signs: true }));

  it('are one candidate to eight', () => {
    expect(() => writeProofs({ anyOf: [] })).toThrow(RangeError);
    expect(() => writeProofs({ anyOf: candidates(9) })).toThrow(RangeError);
    expect(readProofs(writeProofs({ anyOf: candidates(8) }), 0).anyOf).toHaveLength(8);
    expect(readProofs(writeProofs({ anyOf: candidates(8), also: proof('TRANSACTION') }), 0).anyOf).toHaveLength(8);
    const nine = Buffer.concat([writeProofs({ anyOf: candidates(8) }), writeProofs({ anyOf: candidates(1) })]);
    expect(() => readProofs(nine, 0)).toThrow('too many proofs');
    expect(() => readProofs(Buffer.alloc(0), 0)).toThrow(WireError);
    expect(() => readProofs(Buffer.concat([writeProofs({ anyOf: candidates(8) }), writeProofs({ anyOf: candidates(8) })]), 0)).toThrow(
      WireError,
    );
    // What has to be right as well is no candidate.
    const also = writeProofs({ anyOf: candidates(1), also: proof('TRANSACTION') }).subarray(writeProofs({ anyOf: candidates(1) }).length);
    expect(() => readProofs(also, 0)).toThrow('no candidate');
  });

  it('have what must be right as well once, at their end', () => {
    const one = writeProofs({ anyOf: candidates(1) });
    const both = writeProofs({ anyOf: candidates(1), also: proof('TRANSACTION') });
    const also = both.subarray(one.length);
    expect(readProofs(both, 0).also).toEqual(proof('TRANSACTION'));
    expect(() => readProofs(Buffer.concat([both, also]), 0)).toThrow(WireError);
    expect(() => readProofs(Buffer.concat([both, one]), 0)).toThrow(WireError);
  });

  it('are read after what stands before them, to the last byte', () => {
    const bytes = writeProofs({ anyOf: [{ ...proof('OTP_SIGN'), signs: false }] });
    expect(readProofs(Buffer.concat([Buffer.alloc(17), bytes]), 17).anyOf).toEqual([{ ...proof('OTP_SIGN'), signs: false }]);
    for (let end = 1; end < bytes.length; end += 1) expect(() => readProofs(bytes.subarray(0, end), 0)).toThrow(WireError);
    expect(() => readProofs(Buffer.concat([bytes, Buffer.of(0)]), 0)).toThrow(WireError);
  });

  it('have a role and a kind that are known, a salt of 16 bytes and a secret of 65,535 at most', () => {
    const bytes = writeProofs({ anyOf: candidates(1) });
    for (const [at, value] of [
      [0, 3],
      [1, 0xff],
    ] as const)
      expect(() => readProofs(Buffer.from(bytes.map((byte, index) => (index === at ? value : byte))), 0)).toThrow(WireError);
    const one = { ...proof(), signs: true };
    for (const length of [0, 15, 17]) expect(() => writeProofs({ anyOf: [{ ...one, salt: Buffer.alloc(length) }] })).toThrow(RangeError);
    expect(() => writeProofs({ anyOf: [{ ...one, secret: Buffer.alloc(65_536) }] })).toThrow(RangeError);
    expect(readProofs(writeProofs({ anyOf: [{ ...one, secret: Buffer.alloc(65_535) }] }), 0).anyOf[0]?.secret.length).toBe(65_535);
  });

  it('are over other bytes for another key, another kind, another salt and another scope', () => {
    const id = newKeyId('caller');
    const salt = Buffer.alloc(16);
    const scope = Buffer.alloc(32);
    const inputs = [
      macInput(id, 'PASSWORD', salt, Buffer.from('x'), Buffer.alloc(32, 1)),
      macInput(id, 'PASSWORD', salt, Buffer.from('x'), scope),
      macInput(newKeyId('caller'), 'PASSWORD', salt, Buffer.from('x'), scope),
      macInput(id, 'PASSWORD', Buffer.alloc(16, 1), Buffer.from('x'), scope),
      macInput(id, 'PASSWORD', salt, Buffer.from('y'), scope),
      ...(Object.keys(secretKinds) as SecretKind[])
        .filter((kind) => kind !== 'PASSWORD')
        .map((kind) => macInput(id, kind, salt, Buffer.from('x'), scope)),
    ].map((input) => input.toString('hex'));
    expect(new Set(inputs).size).toBe(inputs.length);
    for (const length of [15, 17]) expect(() => macInput(id, 'PASSWORD', Buffer.alloc(length), Buffer.from('x'), scope)).toThrow(WireError);
  });
});

describe('the body of a request', () => {
  const id = newKeyId('general');
  const caller = newKeyId('caller');
  const one = Buffer.of(0);
  const ecdsa = { scheme: 'ECDSA', hash: 'sha256' } as const;
  const pss = { scheme: 'RSA_PSS', hash: 'sha512', mgfHash: 'sha384', saltBytes: 300 } as const;
  const changed = (body: Buffer, at: number, value: number): Buffer => {
    const copy = Buffer.from(body);
    copy[at] = value;
    return copy;
  };

  it.each<[string, Buffer, (body: Buffer) => unknown]>([
    ['a key', messages.writeCreateKey(id, 'P-256'), messages.readCreateKey],
    ['a MAC', messages.writeMakeMac(caller, 'PASSWORD', Buffer.from('secret'), Buffer.alloc(32)), messages.readMakeMac],
    ['a claim', writeClaimKey(caller, '0f'.repeat(16)), readClaimKey],
    ['a purpose', messages.writeAssignPurpose(parseKeyId(`53${'01'.repeat(16)}`), 'root'), messages.readAssignPurpose],
    ['a page of keys', writeListKeys({ after: id, limit: 5 }), readListKeys],
    ['a signature', writeSign(id, ecdsa, [Buffer.alloc(32)]), readSign],
    ['a message key', provider.writeCreateMessageKey(id, { scheme: 'Ed25519' }), provider.readCreateMessageKey],
    ['a signed message', provider.writeSignMessage(id, { scheme: 'Ed25519' }, one), provider.readSignMessage],
    ['a MAC that is verified', provider.writeVerifyMac(id, 'sha256', one, one), provider.readVerifyMac],
  ])('for %s is read to its last byte, and no further', (_, body, read) => {
    read(body);
    expect(() => read(Buffer.concat([body, one]))).toThrow();
    expect(() => read(body.subarray(0, -1))).toThrow();
  });

  it('for a key, a MAC or a claim is read as it was written', () => {
    expect(messages.readCreateKey(messages.writeCreateKey(id, 'P-384'))).toEqual({ id, type: 'P-384' });
    const mac = { id: caller, kind: 'AUTH_TOKEN', secret: Buffer.from('secret'), scope: Buffer.alloc(32, 5) } as const;
    expect(messages.readMakeMac(messages.writeMakeMac(caller, mac.kind, mac.secret, mac.scope, 7))).toEqual({ ...mac, generation: 7 });
    expect(messages.readDestroyMacKey(messages.writeDestroyMacKey(1, 2))).toEqual({ generation: 1, current: 2 });
    expect(() => messages.readDestroyMacKey(messages.writeDestroyMacKey(2, 2))).toThrow(WireError);
    expect(() => messages.readCreateKey(changed(messages.writeCreateKey(id, 'P-256'), 4 + keyIdLength, 99))).toThrow(WireError);
    expect(() => messages.readClaimOutcome(Buffer.of(99))).toThrow(WireError);
    expect(() => secretKindOf(0xff)).toThrow('unknown kind of secret');
  });

  it('for a purpose names a key that has none, and one of the purposes that may be given', () => {
    const legacy = parseKeyId(`53${'01'.repeat(16)}`);
    for (const purpose of ['root', 'authority', 'timeStamps'] as const)
      expect(messages.readAssignPurpose(messages.writeAssignPurpose(legacy, purpose))).toEqual({ id: legacy, purpose });
    for (const other of [id, caller, macKeyId])
      expect(() => messages.readAssignPurpose(messages.writeAssignPurpose(other, 'root'))).toThrow('already has a purpose');
    expect(() => messages.readAssignPurpose(changed(messages.writeAssignPurpose(legacy, 'root'), 4 + keyIdLength, 3))).toThrow(WireError);
  });

  it('for a signature has an algorithm that is known, and as many digests as it says', () => {
    for (const algorithm of [ecdsa, pss, { scheme: 'RSA_PKCS1', hash: 'sha384' }] as const) {
      const digests = [1, 2].map((value) => Buffer.alloc({ sha256: 32, sha384: 48, sha512: 64 }[algorithm.hash], value));
      expect(readSign(writeSign(id, algorithm, digests))).toEqual({ id, algorithm, digests, proofs: undefined });
      expect(readServiceSign(writeServiceSign(id, algorithm, one))).toEqual({ id, algorithm, message: one });
    }
    const body = writeSign(id, pss, [Buffer.alloc(64)]);
    for (const [at, text] of [
      [keyIdLength, 'unknown scheme'],
      [keyIdLength + 1, 'unknown hash'],
      [keyIdLength + 2, 'unknown hash'],
    ] as const)
      for (const value of [4, 0xff]) expect(() => readSign(changed(body, at, value)), `${at}: ${value}`).toThrow(text);
    for (const length of [31, 33]) expect(() => writeSign(id, ecdsa, [Buffer.alloc(length)])).toThrow(RangeError);
    const [none, two] = [
      writeSign(id, ecdsa, []),
      writeSign(
        id,
        ecdsa,
        [one, one].map(() => Buffer.alloc(32)),
      ),
    ];
    expect(readSign(none).digests).toEqual([]);
    expect(() => readSign(none.subarray(0, -1))).toThrow('ends early');
    for (const count of [0, 1, 3])
      expect(() => readSign(changed(two, keyIdLength + 5 + 2, count))).toThrow('does not have the length of its digests');
    const empty = writeServiceSign(id, ecdsa, new Uint8Array());
    expect(readServiceSign(empty).message.length).toBe(0);
    expect(() => readServiceSign(empty.subarray(0, -1))).toThrow('ends early');
  });

  it('for a message names a key that signs messages by this algorithm', () => {
    const [ed25519, hmac] = [{ scheme: 'Ed25519' }, { scheme: 'HMAC', hash: 'sha384' }] as const;
    const legacy = parseKeyId(`53${'01'.repeat(16)}`);
    const mac = newKeyId('mac');
    for (const [key, algorithm] of [...[ed25519, hmac].map((each) => [id, each] as const), [mac, hmac] as const, [legacy, hmac] as const])
      expect(provider.readSignMessage(provider.writeSignMessage(key, algorithm, one))).toEqual({ id: key, algorithm, message: one });
    for (const [key, algorithm] of [
      ...[mac, legacy, newKeyId('audit'), caller, macKeyId].map((each) => [each, ed25519] as const),
      ...[newKeyId('audit'), newKeyId('ocsp'), caller, macKeyId].map((each) => [each, hmac] as const),
    ])
      expect(() => provider.readSignMessage(provider.writeSignMessage(key, algorithm, one)), key).toThrow(WireError);
    for (const key of [newKeyId('audit'), caller, macKeyId])
      expect(() => provider.readVerifyMac(provider.writeVerifyMac(key, 'sha256', one, one)), key).toThrow(WireError);
    expect(() => provider.readVerifyMac(changed(provider.writeVerifyMac(id, 'sha256', one, one), 4 + keyIdLength, 0))).toThrow(
      'the algorithm makes no MAC',
    );
    for (const code of [4, 0xff])
      expect(() => provider.readSignMessage(changed(provider.writeSignMessage(id, hmac, one), 4 + keyIdLength, code))).toThrow(
        'a value is outside its list',
      );
  });

  it('for a message key has a purpose, and for HMAC 1 to 512 bytes', () => {
    const type = (bytes: number) => ({ scheme: 'HMAC', hash: 'sha256', bytes }) as const;
    for (const key of [id, newKeyId('mac')])
      for (const bytes of [1, 512])
        expect(provider.readCreateMessageKey(provider.writeCreateMessageKey(key, type(bytes)))).toEqual({ id: key, type: type(bytes) });
    for (const bytes of [0, 513])
      expect(() => provider.readCreateMessageKey(provider.writeCreateMessageKey(id, type(bytes)))).toThrow(`an HMAC key of ${bytes} bytes`);
    const legacy = parseKeyId(`53${'01'.repeat(16)}`);
    expect(() => provider.readCreateMessageKey(provider.writeCreateMessageKey(legacy, type(32)))).toThrow('must have a purpose');
    expect(provider.readCreateMessageKey(provider.writeCreateMessageKey(id, { scheme: 'Ed25519' }))).toEqual({
      id,
      type: { scheme: 'Ed25519' },
    });
  });
});

describe('the answer of the host', () => {
  it('about a MAC is a salt of 16 bytes and a MAC of 32', () => {
    const bytes = Buffer.from(Array.from({ length: 48 }, (_, index) => index));
    expect(messages.readMadeMac(bytes)).toEqual({ salt: bytes.subarray(0, 16), mac: bytes.subarray(16) });
    for (const length of [0, 47, 49]) expect(() => messages.readMadeMac(Buffer.alloc(length))).toThrow(WireError);
  });

  it('about a claim is read as it was written', () => {
    for (const outcome of claimOutcomes) expect(messages.readClaimOutcome(messages.writeClaimOutcome(outcome))).toBe(outcome);
    expect(new Set(claimOutcomes.map((outcome) => messages.writeClaimOutcome(outcome)[0])).size).toBe(claimOutcomes.length);
  });
});

describe('the identifier of a key', () => {
  it('says whose it is, has 16 random bytes, and is no other bytes', () => {
    const ids = [newKeyId('caller'), newKeyId('identity'), newKeyId('general'), macKeyId];
    expect(ids.map(keyOwner)).toEqual(['caller', 'caller', 'service', 'service']);
    expect(ids.map(isIdentityKey)).toEqual([false, true, false, false]);
    expect(ids.map(keyPurpose)).toEqual([undefined, undefined, 'general', undefined]);
    expect(new Set(Array.from({ length: 100 }, () => newKeyId('caller').slice(2, 10))).size).toBe(100);
    const bytes = keyIdBytes(newKeyId('caller'));
    expect(keyIdBytes(keyIdOf(bytes))).toEqual(bytes);
    for (const wrong of [
      bytes.subarray(1),
      Buffer.concat([bytes, Buffer.of(0)]),
      Buffer.concat([Buffer.of(0x42), bytes.subarray(1)]),
      Buffer.alloc(0),
    ])
      expect(() => keyIdOf(wrong)).toThrow(RangeError);
    expect(() => parseKeyId('43zz')).toThrow(RangeError);
  });

  it('has for its first byte what the key is for, which tokens keep for ever', () => {
    const bytes = { audit: 0x41, root: 0x52, authority: 0x49, ocsp: 0x4f, timeStamps: 0x54, mac: 0x4d, general: 0x47 } as const;
    for (const [purpose, byte] of Object.entries(bytes)) {
      const key = keyIdOf(Buffer.concat([Buffer.of(byte), Buffer.alloc(16, 7)]));
      expect([keyPurpose(key), keyOwner(key), lacksPurpose(key)]).toEqual([purpose, 'service', false]);
      expect(newKeyId(purpose as keyof typeof bytes)).toMatch(new RegExp(`^${byte.toString(16)}[0-9a-f]{32}$`));
    }
    const caller = parseKeyId(`43${'07'.repeat(16)}`);
    expect([keyPurpose(caller), keyOwner(caller), lacksPurpose(caller)]).toEqual([undefined, 'caller', false]);
    expect(newKeyId('caller')).toMatch(/^43[0-9a-f]{32}$/);
    expect([macKeyId, keyPurpose(macKeyId), lacksPurpose(macKeyId)]).toEqual([`53${'00'.repeat(16)}`, undefined, false]);
    expect([macKeyIdOf(258), lacksPurpose(macKeyIdOf(258))]).toEqual([`53${'00'.repeat(14)}0102`, false]);
    const legacy = parseKeyId(`53${'07'.repeat(16)}`);
    expect([keyPurpose(legacy), keyOwner(legacy), lacksPurpose(legacy)]).toEqual([undefined, 'service', true]);
    expect(withPurpose(legacy, 'ocsp')).toBe(`4f${'07'.repeat(16)}`);
    expect(lacksPurpose(parseKeyId(`52${'53'.repeat(16)}`))).toBe(false);
    expect(keyOwner(parseKeyId(`52${'00'.repeat(15)}43`))).toBe('service');
    expect(keyTrial.toString()).toBe('signetd: is the key there?\n');
  });

  it('comes in pages', () => {
    const after = newKeyId('general');
    expect(readListKeys(writeListKeys({ after, limit: 1 }))).toEqual({ after, limit: 1 });
    expect(readListKeys(writeListKeys({ after: undefined, limit: keysInAnswerMax }))).toEqual({ after: undefined, limit: keysInAnswerMax });
    for (const limit of [0, keysInAnswerMax + 1]) expect(() => readListKeys(writeListKeys({ after, limit }))).toThrow(WireError);
    expect(() => readListKeys(Buffer.concat([writeListKeys({ after, limit: 1 }), Buffer.of(0)]))).toThrow(WireError);
  });

  it('is claimed by 32 hexadecimal digits', () => {
    const id = newKeyId('caller');
    expect(readClaimKey(writeClaimKey(id, '0f'.repeat(16)))).toEqual({ id, claim: '0f'.repeat(16) });
    for (const claim of ['', '0f'.repeat(15), '0f'.repeat(17), '0F'.repeat(16)])
      expect(() => readClaimKey(writeClaimKey(id, claim))).toThrow(WireError);
  });
});

describe('what the token is asked to sign', () => {
  it.each([
    ['sha1', 20, '1.3.14.3.2.26'],
    ['sha256', 32, '2.16.840.1.101.3.4.2.1'],
    ['sha384', 48, '2.16.840.1.101.3.4.2.2'],
    ['sha512', 64, '2.16.840.1.101.3.4.2.3'],
  ] as const)('is the DigestInfo of %s with PKCS #1 v1.5, the digest with the others', (hash, bytes, oid) => {
    const digest = Buffer.alloc(bytes, 7);
    const info = der.sequence(der.sequence(der.oid(oid), der.nullValue()), der.octetString(digest));
    expect(signing({ scheme: 'RSA_PKCS1', hash }, digest).input).toEqual(Buffer.from(info));
    expect(signing({ scheme: 'ECDSA', hash }, digest).input).toEqual(digest);
    const pss = signing({ scheme: 'RSA_PSS', hash, mgfHash: 'sha384', saltBytes: 9 }, digest);
    expect(pss.input).toEqual(digest);
    expect(pss.mechanism.parameter).toMatchObject({ saltLen: 9 });
    for (const length of [bytes - 1, bytes + 1])
      for (const algorithm of [
        { scheme: 'RSA_PKCS1', hash },
        { scheme: 'ECDSA', hash },
      ] as const)
        expect(() => signing(algorithm, Buffer.alloc(length))).toThrow(WireError);
  });

  it('has the numbers of PKCS #11 for its hashes', () => {
    const numbers = (['sha1', 'sha256', 'sha384', 'sha512'] as const).map((hash) => {
      const digest = Buffer.alloc({ sha1: 20, sha256: 32, sha384: 48, sha512: 64 }[hash]);
      const own = signing({ scheme: 'RSA_PSS', hash, mgfHash: hash, saltBytes: 1 }, digest).mechanism.parameter;
      return own;
    });
    expect(numbers).toMatchObject([
      { hashAlg: 0x220, mgf: 1 },
      { hashAlg: 0x250, mgf: 2 },
      { hashAlg: 0x260, mgf: 3 },
      { hashAlg: 0x270, mgf: 4 },
    ]);
  });

  it('is tried by every algorithm that a type of key has', () => {
    const short = algorithmsOf('RSA-3072', false).map((one) => one.scheme);
    expect(short).toEqual(['RSA_PKCS1', 'RSA_PSS']);
    expect(algorithmsOf('P-384', false)).toEqual([{ scheme: 'ECDSA', hash: 'sha256' }]);
    expect(algorithmsOf('P-384', true)).toHaveLength(3);
    expect(algorithmsOf('RSA-3072', true)).toHaveLength(6);
    expect(algorithmsOf('RSA-2048', true)).toHaveLength(12);
  });
});

describe('the public key that a token gives', () => {
  it.each(['P-256', 'P-384', 'P-521'])('of %s may be bare or in an OCTET STRING', (namedCurve) => {
    const { publicKey } = generateKeyPairSync('ec', { namedCurve });
    const spki = publicKey.export({ type: 'spki', format: 'der' });
    const point = spki.subarray(-{ 'P-256': 65, 'P-384': 97, 'P-521': 133 }[namedCurve as 'P-256']);
    const curve = Buffer.from(
      { 'P-256': '06082a8648ce3d030107', 'P-384': '06052b81040022', 'P-521': '06052b81040023' }[namedCurve as 'P-256'],
      'hex',
    );
    expect(ecPublicKeyInfo(curve, point)).toEqual(spki);
    expect(ecPublicKeyInfo(curve, Buffer.from(der.octetString(point)))).toEqual(spki);
  });

  it.each([
    ['P-256', [0x04, 0x41, 0x04], 67],
    ['P-384', [0x04, 0x61, 0x04], 99],
    ['P-521', [0x04, 0x81, 0x85, 0x04], 136],
  ])('of %s is taken as it is where it only looks like an OCTET STRING', (_curve, head, length) => {
    const wrapped = Buffer.concat([Buffer.from(head), Buffer.alloc(length - head.length, 9)]);
    const isWhole = (point: Buffer): boolean => ecPublicKeyInfo(Buffer.alloc(0), point).subarray(-point.length).equals(point);
    const bare = (point: Buffer): Buffer => ecPublicKeyInfo(Buffer.alloc(0), point);
    expect(bare(wrapped)).toEqual(bare(wrapped.subarray(head.length - 1)));
    for (const place of head.keys()) {
      const other = Buffer.from(wrapped);
      other[place] = (other[place] ?? 0) + 1;
      expect([place, isWhole(other), bare(other).equals(bare(other.subarray(head.length - 1)))]).toEqual([place, true, false]);
    }
  });

  it('of Ed25519 may be bare or in an OCTET STRING, also where it begins like one; other lengths are none', () => {
    const { publicKey } = generateKeyPairSync('ed25519');
    const spki = publicKey.export({ type: 'spki', format: 'der' });
    expect(ed25519PublicKeyInfo(spki.subarray(-32))).toEqual(spki);
    expect(ed25519PublicKeyInfo(Buffer.from(der.octetString(spki.subarray(-32))))).toEqual(spki);
    const alike = Buffer.concat([Buffer.of(0x04, 0x20), Buffer.alloc(30, 9)]);
    expect(ed25519PublicKeyInfo(alike).subarray(-32)).toEqual(alike);
    for (const wrong of [
      Buffer.alloc(31),
      Buffer.alloc(33),
      Buffer.concat([Buffer.of(0x04, 0x21), Buffer.alloc(32)]),
      Buffer.concat([Buffer.of(0x05, 0x20), Buffer.alloc(32)]),
    ])
      expect(() => ed25519PublicKeyInfo(wrong)).toThrow('an Ed25519 public key');
    expect(createPublicKey({ key: ed25519PublicKeyInfo(spki.subarray(-32)), format: 'der', type: 'spki' }).asymmetricKeyType).toBe(
      'ed25519',
    );
  });
});

describe('what a code of PKCS #11 means', () => {
  const codes = Object.values(ckr);
  const where = (test: (code: number) => boolean): number[] => codes.filter(test).toSorted((one, other) => one - other);

  it('the host is to be replaced', () => {
    const isLost = (makesKey: boolean) => (code: number) => faultKindOf(code, { makesKey }) === 'lost';
    expect(where(isLost(false))).toEqual([0x02, 0x05, 0x06, 0x30, 0x31, 0x32, 0xb0, 0xb3, 0xe0, 0xe1, 0x101, 0x190]);
    // A token without room for a key, or that fails to make one, serves on.
    expect(where(isLost(true))).toEqual([0x32, 0xb0, 0xb3, 0xe0, 0xe1, 0x101, 0x190]);
  });

  it('the request is at fault, or nothing is known', () => {
    const refused = [0x07, 0x10, 0x12, 0x13, 0x1b, 0x20, 0x21, 0x54, 0x62, 0x63, 0x68, 0x70, 0x71, 0xd0, 0xd1, 0x130, 0x140];
    expect(where(requestIsRefused)).toEqual(refused);
    for (const makesKey of [true, false]) {
      expect(where((code) => faultKindOf(code, { makesKey }) === 'refused')).toEqual(refused);
      // FUNCTION_CANCELED, CANT_LOCK, OPERATION_NOT_INITIALIZED, SESSION_COUNT, SLOT_ID_INVALID, and those of vendors.
      for (const code of [0x50, 0x0a, 0x91, 0xb1, 0x03, 0x80000000, 0x80000383]) expect(faultKindOf(code, { makesKey })).toBe('unknown');
    }
    expect(where(tokenIsFull)).toEqual([0x31]);
  });

  it('the handle is to be looked for, the PIN not to be tried again, the key as it is', () => {
    expect(where(handleIsStale)).toEqual([0x60, 0x82]);
    expect(where(pinIsRefused)).toEqual([0xa0, 0xa1, 0xa2, 0xa3, 0xa4]);
    expect([0x9f, 0xa5, undefined].map(pinIsRefused)).toEqual([false, false, false]);
    expect([0x10, 0x1b, 0x54, 0xd1, 0x05, undefined].map(changeIsRefused)).toEqual([true, true, true, true, false, false]);
    expect(handleIsStale(undefined)).toBe(false);
  });
});
