import { createPublicKey, createHash, randomBytes, verify, type KeyObject } from 'node:crypto';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import * as fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { Executor } from '../../src/token/host/execute.ts';
import { KeyDirectory } from '../../src/token/host/key-directory.ts';
import { MadeAuditKeys } from '../../src/token/host/made-audit-keys.ts';
import { findMacKeys } from '../../src/token/host/mac-key.ts';
import { probeToken, type Probed } from '../../src/token/host/probe.ts';
import { ProvenSignatures } from '../../src/token/host/proven-signatures.ts';
import { openSession, pkcs11js, type Session } from '../../src/token/host/session.ts';
import { KeyHeldBack } from '../../src/token/host/wrong-secrets.ts';
import { newKeyId, type KeyId } from '../../src/token/key-id.ts';
import { hashBytes, hashNames, type HashName, type SignatureAlgorithm } from '../../src/token/signature-algorithm.ts';
import { secretKinds, signingKinds, type Candidate, type MadeMac, type Proof, type SecretKind } from '../../src/token/token.ts';
import { signUse } from '../../src/token/uses.ts';
import { FieldReader } from '../../src/token/wire/fields.ts';
import { operations, statuses } from '../../src/token/wire/frames.ts';
import * as messages from '../../src/token/wire/messages.ts';
import { writeSign } from '../../src/token/wire/sign-message.ts';
import { repetitions } from '../support/repetitions.ts';
import { DirectToken, profileWith } from './direct-token.ts';

const ecdsa = { scheme: 'ECDSA', hash: 'sha256' } as const;
const documentAt = (index: number): Buffer => Buffer.from(`document ${index}`);
const digestsWith = (hash: HashName, count: number): Buffer[] =>
  Array.from({ length: count }, (_, index) => createHash(hash).update(documentAt(index)).digest());
const scope = randomBytes(32);
const kinds = Object.keys(secretKinds) as SecretKind[];
const keyTypes = ['P-256', 'RSA-2048'] as const;
type KeyType = (typeof keyTypes)[number];

let token: DirectToken;
let probed: Probed;
let heldBack: KeyId | undefined;
let uses: string[] = [];
let checked: KeyId[] = [];
let counted: (readonly [KeyId, number])[] = [];
let executor: Executor;
const opened: Session[] = [];
const keys = new KeyDirectory(
  () => undefined,
  () => undefined,
);
const ids = { 'P-256': newKeyId('caller'), 'RSA-2048': newKeyId('caller') } as const;
const publicKeys = new Map<KeyType, KeyObject>();
const secrets = new Map<string, { readonly secret: Buffer; readonly made: MadeMac }>();

beforeAll(() => {
  token = new DirectToken();
  probed = probeToken(token.session, token.slot, profileWith(), { full: false });
  const wrongSecrets = {
    check: (id: KeyId) => {
      checked.push(id);
      if (id === heldBack) throw new KeyHeldBack(1_790_000_000_000);
    },
    count: (id: KeyId, wrong: number) => {
      counted.push([id, wrong]);
    },
  };
  const memory = {
    use: (use: string) => void uses.push(use),
    wrongSecrets,
    accountHeads: () => [],
    auditKeys: new MadeAuditKeys(MadeAuditKeys.memory()),
  };
  const open = (): Session => {
    const session = openSession(token.module, token.slot);
    opened.push(session);
    return session;
  };
  executor = new Executor(open, keys, findMacKeys(token.session)[0], probed, { memory, servedBy: 'service' });
  executor.execute({ id: 1, code: operations.makeMacKey, body: Buffer.alloc(0) });
  for (const type of keyTypes) {
    const { body } = executor.execute({ id: 1, code: operations.createKey, body: messages.writeCreateKey(ids[type], type) });
    publicKeys.set(type, createPublicKey({ key: Buffer.from(body), format: 'der', type: 'spki' }));
    for (const kind of kinds) {
      const secret = randomBytes(kind === 'TRANSACTION' ? 900 : 20);
      const made = executor.execute({
        id: 1,
        code: operations.makeMac,
        body: messages.writeMakeMac(ids[type], kind, secret, scope),
      });
      secrets.set(type + kind, { secret, made: messages.readMadeMac(Buffer.from(made.body)) });
    }
  }
});
afterEach(() => {
  vi.restoreAllMocks();
  heldBack = undefined;
});
afterAll(() => {
  token.remove();
});

type Fault = 'none' | 'secret' | 'mac' | 'short mac' | 'long secret';

/** A right proof of one of the key's secrets, or a wrong one. */
function proofOf(type: KeyType, kind: SecretKind, fault: Fault = 'none'): Proof {
  const known = secrets.get(type + kind);
  if (known === undefined) throw new Error('each kind has a secret');
  const { secret, made } = known;
  const proof = { kind, scope, secret, ...made };
  switch (fault) {
    case 'secret':
      return { ...proof, secret: Buffer.concat([secret, Buffer.of(0)]) };
    case 'mac':
      return { ...proof, mac: Buffer.alloc(32, 1) };
    case 'short mac':
      return { ...proof, mac: made.mac.subarray(1) };
    case 'long secret':
      return { ...proof, secret: Buffer.alloc(3000, 1) };
    case 'none':
      return proof;
  }
}

const right = (type: KeyType, kind: SecretKind = 'PASSWORD'): Candidate => ({ ...proofOf(type, kind), signs: signingKinds.has(kind) });

interface Result {
  readonly status: number;
  readonly body: Buffer;
  readonly uses: readonly string[];
  readonly counted: readonly (readonly [KeyId, number])[];
  /** Number of sessions. */
  readonly opened: number;
}

/** Executes a request; in the general way alone, or with the native function where it can be used. */
function execute(body: Buffer, way: 'native' | 'general'): Result {
  [uses, checked, counted] = [[], [], []];
  const before = opened.length;
  const bypass = vi.spyOn(ProvenSignatures.prototype, 'answer');
  if (way === 'general') bypass.mockReturnValue(undefined);
  // A request must not change, whoever reads it.
  const { status, body: answer } = executor.execute({ id: 1, code: operations.sign, body: Buffer.from(body) });
  bypass.mockRestore();
  return { status, body: Buffer.from(answer), uses, counted, opened: opened.length - before };
}

/** Checks whether no call of PKCS#11 from JavaScript was needed. */
function isNative(body: Buffer): boolean {
  const call = vi.spyOn(token.module, 'C_VerifyInit');
  execute(body, 'native');
  const isCalled = call.mock.calls.length > 0;
  call.mockRestore();
  return !isCalled;
}

/** What must be the same in both ways: a random value differs, and must verify. */
function comparable({ status, body, ...rest }: Result, type: KeyType, { scheme, ...algorithm }: SignatureAlgorithm): object {
  if (status === statuses.fault || status === statuses.lost) return { status, code: body.readUInt32BE(0), ...rest };
  if (status !== statuses.ok || scheme === 'RSA_PKCS1') return { status, body, ...rest };
  const by = body[0];
  const reader = new FieldReader(body.subarray(1));
  const values = reader.list();
  reader.end();
  const key = publicKeys.get(type);
  if (key === undefined) throw new Error('each type has a key');
  const lengths = values.map((value) => value.length);
  const verdicts = values.map((value, index) => {
    const document = documentAt(index);
    if (scheme === 'ECDSA') return verify(algorithm.hash, document, { key, dsaEncoding: 'ieee-p1363' }, value);
    return 'saltBytes' in algorithm && verify(algorithm.hash, document, { key, padding: 6, saltLength: algorithm.saltBytes }, value);
  });
  return { status, by, lengths, verdicts, ...rest };
}

const hash = fc.constantFrom(...hashNames);
const algorithm: fc.Arbitrary<SignatureAlgorithm> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ scheme: fc.constantFrom('RSA_PKCS1', 'ECDSA'), hash }) },
  fc.record({ hash, saltBytes: fc.constantFrom(0, 20, 32, 300) }).map(({ hash: own, saltBytes }) => {
    return { scheme: 'RSA_PSS', hash: own, mgfHash: own, saltBytes } as const;
  }),
);
const fault = fc.oneof(
  { weight: 4, arbitrary: fc.constant('none' as const) },
  fc.constantFrom('secret' as const, 'mac' as const, 'short mac' as const, 'long secret' as const),
);
const signing = fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...signingKinds) }, fc.constantFrom(...kinds));
interface Asked {
  readonly type: KeyType;
  readonly algorithm: SignatureAlgorithm;
  /** Number of digests. */
  readonly count: number;
  readonly candidates: readonly { readonly kind: SecretKind; readonly fault: Fault; readonly signs: boolean }[];
  readonly also: { readonly kind: SecretKind; readonly fault: Fault } | null;
}
const request: fc.Arbitrary<Asked> = fc.record({
  type: fc.constantFrom(...keyTypes),
  algorithm,
  count: fc.oneof({ weight: 3, arbitrary: fc.constant(1) }, fc.nat(4), fc.constant(70)),
  candidates: fc.oneof(
    { weight: 4, arbitrary: fc.tuple(fc.record({ kind: signing, fault, signs: fc.constant(true) })) },
    fc.array(fc.record({ kind: signing, fault, signs: fc.boolean() }), { minLength: 1, maxLength: 3 }),
  ),
  also: fc.option(fc.record({ kind: fc.constantFrom(...kinds), fault })),
});

function bodyOf(asked: Asked): Buffer {
  const { type, candidates, also, count } = asked;
  return writeSign(ids[type], asked.algorithm, digestsWith(asked.algorithm.hash, count), {
    anyOf: candidates.map(({ kind, fault: of, signs }) => ({ ...proofOf(type, kind, of), signs })),
    also: also === null ? undefined : proofOf(type, also.kind, also.fault),
  });
}

/** Offset of a byte that is to be changed: in the whole request, or in the first proof. */
function placeOf({ kind, at }: { readonly kind: string; readonly at: number }, { count, algorithm: { hash: own } }: Asked): number {
  return kind === 'proof field' ? 25 + Math.min(count, 3) * hashBytes[own] + at : at;
}

describe('a signature with a proof', () => {
  it('is the same, and leaves the same behind, whether the native function makes it or the general way', () => {
    const statusesSeen = new Set<number>();
    fc.assert(
      fc.property(request, (asked) => {
        const body = bodyOf(asked);
        const native = comparable(execute(body, 'native'), asked.type, asked.algorithm);
        expect(native).toEqual(comparable(execute(body, 'general'), asked.type, asked.algorithm));
        statusesSeen.add(execute(body, 'native').status);
      }),
      { numRuns: repetitions(1000) },
    );
    expect([statuses.ok, statuses.wrongSecret].every((status) => statusesSeen.has(status))).toBe(true);
  });

  it('is the same for a request with bytes changed, missing or added', () => {
    const change = fc.oneof(
      fc.record({ kind: fc.constant('set' as const), at: fc.nat(), byte: fc.nat(255) }),
      // The bytes around the digests are fields with small numbers.
      fc.record({ kind: fc.constant('field' as const), at: fc.constantFrom(0, 17, 18, 19, 21, 22, 23, 24), byte: fc.nat(8) }),
      fc.record({ kind: fc.constant('proof field' as const), at: fc.nat(4), byte: fc.nat(8) }),
      fc.record({ kind: fc.constant('cut' as const), at: fc.nat() }),
      fc.record({ kind: fc.constant('add' as const), bytes: fc.uint8Array({ minLength: 1, maxLength: 120 }) }),
    );
    fc.assert(
      fc.property(request, fc.array(change, { minLength: 1, maxLength: 3 }), (asked, changes) => {
        let body = bodyOf({ ...asked, count: Math.min(asked.count, 3) });
        for (const one of changes) {
          if (one.kind === 'add') body = Buffer.concat([body, one.bytes]);
          else if (one.kind === 'cut') body = body.subarray(0, one.at % (body.length + 1));
          else if (body.length > 0) body[placeOf(one, asked) % body.length] = one.byte;
        }
        const native = execute(body, 'native');
        const general = execute(body, 'general');
        expect([native.status, native.uses, native.counted, native.opened]).toEqual([
          general.status,
          general.uses,
          general.counted,
          general.opened,
        ]);
        if (native.status === statuses.ok) expect(native.body.length).toBe(general.body.length);
        else if (native.status !== statuses.fault && native.status !== statuses.lost) expect(native.body).toEqual(general.body);
      }),
      { numRuns: repetitions(3000) },
    );
  });

  it.each(keyTypes)('is made without a call from JavaScript where the request is of the usual form (%s)', (type) => {
    const own = type === 'P-256' ? ecdsa : ({ scheme: 'RSA_PKCS1', hash: 'sha256' } as const);
    const digests = digestsWith('sha256', 60);
    const also = proofOf(type, 'TRANSACTION');
    for (const kind of signingKinds) expect(isNative(writeSign(ids[type], own, digests, { anyOf: [right(type, kind)], also }))).toBe(true);
    expect(uses).toEqual(digests.map((digest) => signUse(ids[type], own, digest)));
    expect(checked).toEqual([ids[type]]);
    expect(
      isNative(writeSign(ids[type], own, digests.slice(0, 1), { anyOf: [{ ...proofOf(type, 'PASSWORD', 'mac'), signs: true }] })),
    ).toBe(true);
    expect([uses, counted]).toEqual([[`wrong ${ids[type]} 1`], [[ids[type], 1]]]);
    for (const proofs of [
      { anyOf: [right(type), right(type, 'AUTH_TOKEN')] },
      { anyOf: [{ ...right(type), signs: false }] },
      { anyOf: [{ ...proofOf(type, 'PASSWORD', 'long secret'), signs: true }] },
    ]) {
      expect(isNative(writeSign(ids[type], own, digests.slice(0, 1), proofs))).toBe(false);
    }
    expect(isNative(writeSign(ids[type], own, [], { anyOf: [right(type)] }))).toBe(false);
  });

  it.each(kinds.filter((kind) => !signingKinds.has(kind)))('is never made for a secret of the kind %s, even a right one', (kind) => {
    const body = writeSign(ids['P-256'], ecdsa, digestsWith('sha256', 1), { anyOf: [{ ...proofOf('P-256', kind), signs: true }] });
    expect(execute(body, 'native')).toMatchObject({ status: statuses.malformed, uses: [], counted: [] });
  });

  it('is not tried while the key is held back, and a malformed request is malformed then as well', () => {
    heldBack = ids['P-256'];
    const body = writeSign(heldBack, ecdsa, digestsWith('sha256', 1), { anyOf: [right('P-256')] });
    expect(execute(body, 'native')).toMatchObject({ status: statuses.heldBack, uses: [], counted: [] });
    expect(execute(body.subarray(0, -1), 'native').status).toBe(statuses.malformed);
    expect(isNative(body)).toBe(true);
  });

  it('is made in a new session where the old one has an operation that was never ended', () => {
    const body = writeSign(ids['P-256'], ecdsa, digestsWith('sha256', 1), { anyOf: [right('P-256')] });
    const session = opened.at(-1);
    if (session === undefined) throw new Error('the executor has a session');
    token.module.C_SignInit(session.handle, { mechanism: pkcs11js.CKM_ECDSA }, keys.get(ids['P-256']) ?? Buffer.alloc(0));
    const general = vi.spyOn(token.module, 'C_VerifyInit');
    expect(execute(body, 'native')).toMatchObject({ status: statuses.ok, opened: 1 });
    expect(execute(body, 'native')).toMatchObject({ status: statuses.ok, opened: 0 });
    // That of the trial in the new session.
    expect(general).toHaveBeenCalledTimes(1);
  });

  it('of an identity is refused: its key signs only data zones', () => {
    const body = writeSign(newKeyId('identity'), ecdsa, digestsWith('sha256', 1), { anyOf: [right('P-256')] });
    expect(execute(body, 'native').status).toBe(statuses.forbidden);
  });
});

describe('the native function', () => {
  const file = fileURLToPath(new URL('../../dist/prove-and-sign.node', import.meta.url));
  type Call = (...parameters: readonly unknown[]) => unknown;
  /** The functions as anybody may call them. */
  const untyped = createRequire(import.meta.url)(file) as { readonly open: (...parameters: readonly unknown[]) => Call };
  const others: readonly unknown[] = [undefined, null, 'text', 5, {}, [], 1n, Symbol('s'), new Uint16Array(4), new ArrayBuffer(8), () => 0];
  const good = (): readonly unknown[] => {
    const body = writeSign(ids['P-256'], ecdsa, digestsWith('sha256', 1), { anyOf: [right('P-256')] });
    return [token.session.handle, findMacKeys(token.session)[0], keys.get(ids['P-256']), body, Buffer.alloc(5 + 4 + 1024), 0, 64];
  };

  it('throws a TypeError for arguments of a wrong type, and for too few', () => {
    const call = untyped.open(token.path);
    const parameters = good();
    expect(call(...parameters)).toBe(5 + 4 + 64);
    for (const [index] of parameters.entries()) {
      expect(() => call(...parameters.slice(0, index))).toThrow(TypeError);
      for (const other of others)
        if (index < 5 || typeof other !== 'number') expect(() => call(...parameters.with(index, other))).toThrow(TypeError);
    }
    for (const handle of [0, 1, 2]) {
      for (const length of [0, 7, 9]) expect(() => call(...parameters.with(handle, Buffer.alloc(length)))).toThrow(TypeError);
    }
    for (const other of [...others, 'x'.repeat(5000)]) if (other !== 'text') expect(() => untyped.open(other)).toThrow(TypeError);
    expect(() => untyped.open()).toThrow(TypeError);
  });

  it('is there only for a module that the process has loaded', () => {
    expect(() => untyped.open('/no/module.so')).toThrow('the PKCS#11 module is not loaded');
    expect(() => untyped.open(file)).toThrow('the PKCS#11 module is not loaded');
  });

  it('writes within the buffer for the answer, and leaves requests for which it is too short to others', () => {
    const call = untyped.open(token.path);
    const parameters = good();
    const answer = Buffer.alloc(2000, 0xee);
    expect(call(...parameters.with(4, answer.subarray(10, 10 + 5 + 4 + 1024)))).toBe(73);
    expect([answer.subarray(0, 10), answer.subarray(10 + 5 + 4 + 1024)].every((part) => part.every((byte) => byte === 0xee))).toBe(true);
    const detached = new Uint8Array(2000);
    structuredClone(detached.buffer, { transfer: [detached.buffer] });
    for (const short of [answer.subarray(0, 5 + 4 + 1023), answer.subarray(0, 4), Buffer.alloc(0), detached]) {
      expect(call(...parameters.with(4, short))).toBe(-2);
    }
    for (const nothing of [Buffer.alloc(0), detached]) expect(call(...parameters.with(3, nothing))).toBe(-2);
  });

  it('throws the code of the call that failed, with the number of values made before', () => {
    const call = untyped.open(token.path);
    const parameters = good();
    const nowhere = Buffer.alloc(8, 0x7f);
    const thrown = (at: number): unknown => {
      try {
        return call(...parameters.with(at, nowhere));
      } catch (error) {
        return error;
      }
    };
    expect(thrown(0)).toMatchObject({ message: 'C_VerifyInit returned 0xb3', code: 0xb3, made: 0 });
    expect(thrown(1)).toMatchObject({ message: expect.stringMatching(/^C_VerifyInit returned 0x(60|82)$/) as unknown, made: 0 });
    expect(thrown(2)).toMatchObject({ message: expect.stringMatching(/^C_SignInit returned 0x(60|82)$/) as unknown, made: 0 });
  });
});
