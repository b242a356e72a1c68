import { createHash, createPublicKey, randomBytes, verify } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { AccountHead } from '../../src/token/account-files.ts';
import type { Answer } from '../../src/token/host/answer.ts';
import { Executor } from '../../src/token/host/execute.ts';
import { KeyDirectory, type KeyChange } from '../../src/token/host/key-directory.ts';
import { destroyKeys } from '../../src/token/host/key-objects.ts';
import { MadeAuditKeys } from '../../src/token/host/made-audit-keys.ts';
import { findMacKeys } from '../../src/token/host/mac-key.ts';
import { probeToken, type Probed } from '../../src/token/host/probe.ts';
import type { ServedBy } from '../../src/token/host/purposes/purposes.ts';
import { openSession, pkcs11js, type Session } from '../../src/token/host/session.ts';
import { KeyHeldBack } from '../../src/token/host/wrong-secrets.ts';
import { keyTrial, macKeyId, newKeyId, parseKeyId, type KeyId } from '../../src/token/key-id.ts';
import { ckr } from '../../src/token/pkcs11-faults.ts';
import { signingKinds, type Candidate, type Proofs, type SecretKind } from '../../src/token/token.ts';
import { FieldReader, FieldWriter } from '../../src/token/wire/fields.ts';
import { operations, statuses } from '../../src/token/wire/frames.ts';
import * as messages from '../../src/token/wire/messages.ts';
import { writeCreateMessageKey, writeSignMessage, writeVerifyMac } from '../../src/token/wire/provider-messages.ts';
import { writeServiceSign, writeSign } from '../../src/token/wire/sign-message.ts';
import { DirectToken, pkcs11Error, profileWith } from './direct-token.ts';

const plain = profileWith();
const ecdsa = { scheme: 'ECDSA', hash: 'sha256' } as const;
const digest = createHash('sha256').update('document').digest();
const onlyId = (id: KeyId): Buffer => new FieldWriter().bytes(Buffer.from(id, 'hex')).finish();
const claim = '0f'.repeat(16);

let token: DirectToken;
let probed: Probed;

beforeAll(() => {
  token = new DirectToken();
  probed = probeToken(token.session, token.slot, plain, { full: false });
});
afterEach(() => {
  vi.restoreAllMocks();
});
afterAll(() => {
  token.remove();
});

/** One thread of a host, and what it told. */
class Thread {
  readonly uses: string[] = [];
  readonly counted: [KeyId, number][] = [];
  readonly checked: KeyId[] = [];
  readonly told: KeyChange[] = [];
  readonly sessions: Session[] = [];
  readonly heads: AccountHead[] = [];
  readonly keys: KeyDirectory;
  readonly executor: Executor;
  heldBackUntil: number | undefined;

  constructor(servedBy: ServedBy = 'service') {
    this.keys = new KeyDirectory(
      (change) => this.told.push(change),
      () => undefined,
    );
    const open = (): Session => {
      const session = openSession(token.module, token.slot);
      this.sessions.push(session);
      return session;
    };
    const wrongSecrets = {
      check: (id: KeyId) => {
        this.checked.push(id);
        if (this.heldBackUntil !== undefined) throw new KeyHeldBack(this.heldBackUntil);
      },
      count: (id: KeyId, wrong: number) => {
        this.counted.push([id, wrong]);
      },
    };
    const auditKeys = new MadeAuditKeys(MadeAuditKeys.memory());
    const memory = { use: (use: string) => void this.uses.push(use), wrongSecrets, accountHeads: () => this.heads, auditKeys };
    this.executor = new Executor(open, this.keys, findMacKeys(token.session)[0], probed, { memory, servedBy });
  }

  ask(code: number, body: Buffer): Answer & { readonly text: string } {
    const answer = this.executor.execute({ id: 1, code, body });
    return { ...answer, text: Buffer.from(answer.body).toString('utf8') };
  }

  status(code: number, body: Buffer): number {
    return this.ask(code, body).status;
  }

  create(id: KeyId): Buffer {
    const { status, body } = this.ask(operations.createKey, messages.writeCreateKey(id, 'P-256'));
    expect(status).toBe(statuses.ok);
    return Buffer.from(body);
  }

  mac(id: KeyId, kind: SecretKind = 'PASSWORD', text = 'right'): Candidate {
    const [secret, scope] = [Buffer.from(text), Buffer.alloc(32)];
    const { body } = this.ask(operations.makeMac, messages.writeMakeMac(id, kind, secret, scope));
    return { kind, secret, scope, ...messages.readMadeMac(Buffer.from(body)), signs: signingKinds.has(kind) };
  }

  verify(id: KeyId, proofs: Proofs): ReturnType<Thread['ask']> {
    return this.ask(operations.verifyProof, messages.writeVerifyProof(id, proofs));
  }
}

const wrong = (candidate: Candidate): Candidate => ({ ...candidate, secret: Buffer.from('wrong') });
const remove = (...ids: KeyId[]): void => {
  for (const id of ids) destroyKeys(token.session, id, plain);
};

describe('a key pair', () => {
  it('is made, told to the other threads, used, and destroyed, and each is in the account', () => {
    const thread = new Thread();
    const id = newKeyId('general');
    const key = createPublicKey({ key: thread.create(id), format: 'der', type: 'spki' });
    expect(thread.told).toEqual([{ kind: 'added', id, handle: thread.keys.get(id) }]);
    const digests = [digest, createHash('sha256').update('another').digest()];
    const { status, body } = thread.ask(operations.sign, writeSign(id, ecdsa, digests));
    expect(status).toBe(statuses.ok);
    const values = new FieldReader(Buffer.from(body)).list();
    expect(values).toHaveLength(2);
    for (const [index, text] of ['document', 'another'].entries()) {
      expect(verify('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }, values[index] ?? Buffer.alloc(0))).toBe(true);
    }
    expect(thread.ask(operations.destroyKey, onlyId(id))).toMatchObject({ status: statuses.ok, text: '' });
    expect(thread.told.at(-1)).toEqual({ kind: 'removed', id });
    expect(token.count(pkcs11js.CKO_PRIVATE_KEY, id)).toBe(0);
    expect(thread.uses).toEqual([
      `create ${id} P-256`,
      ...digests.map((each) => `sign ${id} ECDSA sha256:${each.toString('hex')}`),
      `destroy ${id}`,
    ]);
    // Those who looked for it, and those who make it later.
    expect(thread.status(operations.sign, writeSign(id, ecdsa, [digest]))).toBe(statuses.noSuchKey);
    expect(thread.ask(operations.createKey, messages.writeCreateKey(id, 'P-256'))).toMatchObject({
      status: statuses.forbidden,
      text: 'the key was removed before it was created',
    });
    expect(thread.uses).toHaveLength(4);
  });

  it('is destroyed before the other threads hear of it', () => {
    const thread = new Thread();
    const id = newKeyId('general');
    thread.create(id);
    token.failNext('C_DestroyObject', ckr.DEVICE_ERROR);
    expect(thread.status(operations.destroyKey, onlyId(id))).toBe(statuses.lost);
    expect(thread.told.map(({ kind }) => kind)).toEqual(['added']);
    expect(thread.uses).toEqual([`create ${id} P-256`]);
    expect(thread.status(operations.destroyKey, Buffer.concat([onlyId(id), Buffer.of(0)]))).toBe(statuses.malformed);
    remove(id);
  });

  it.each([
    ['for HMAC', newKeyId('mac')],
    ['without a purpose', parseKeyId(`53${'a'.repeat(32)}`)],
    ['that is the MAC key', macKeyId],
  ])('is not made for an identifier %s', (_which, id) => {
    const thread = new Thread();
    expect(thread.ask(operations.createKey, messages.writeCreateKey(id, 'P-256'))).toMatchObject({
      status: statuses.forbidden,
      text: "a key pair must be a caller's, or have a signing purpose",
    });
    expect(thread.uses).toEqual([]);
  });

  it('is listed by its identifier, page by page, once the host has read which keys there are', () => {
    const thread = new Thread();
    const ids = Array.from({ length: 3 }, () => newKeyId('general')).toSorted();
    for (const id of ids.toReversed()) thread.create(id);
    const page = (after: KeyId | undefined, limit: number): string[] => {
      const { body } = thread.ask(operations.listKeys, messages.writeListKeys({ after, limit }));
      return new FieldReader(Buffer.from(body)).list().map((each) => each.toString('hex'));
    };
    expect(thread.status(operations.listKeys, messages.writeListKeys({ after: undefined, limit: 10 }))).toBe(statuses.notYet);
    thread.keys.listed(new Map(), true);
    expect([page(undefined, 10), page(undefined, 2), page(ids[1], 2), page(ids[2], 2)]).toEqual([ids, ids.slice(0, 2), ids.slice(2), []]);
    remove(...ids);
  });

  it('is found among others, whether this host has made it or not', () => {
    const thread = new Thread();
    const [made, another] = [newKeyId('general'), newKeyId('general')];
    thread.create(made);
    new Thread().create(another);
    const { body } = thread.ask(operations.findKeys, messages.writeFindKeys([newKeyId('general'), another, made]));
    expect(new FieldReader(Buffer.from(body)).list().map((each) => each.toString('hex'))).toEqual([another, made]);
    remove(made, another);
    expect(messages.readFindKeys(messages.writeFindKeys([made]))).toEqual([made]);
    const many = Array.from({ length: messages.keysToFindMax + 1 }, () => newKeyId('general'));
    expect(thread.status(operations.findKeys, messages.writeFindKeys(many))).toBe(statuses.malformed);
  });

  it('signs nothing where what it is given is no digest of the hash, and none of it is in the account', () => {
    const thread = new Thread();
    const id = newKeyId('general');
    thread.create(id);
    token.failNext('C_Sign', ckr.DEVICE_ERROR);
    const { status, body } = thread.ask(operations.sign, writeSign(id, ecdsa, [digest]));
    const reader = new FieldReader(Buffer.from(body));
    expect([status, reader.u32(), reader.bytes().toString()]).toEqual([
      statuses.lost,
      ckr.DEVICE_ERROR,
      pkcs11Error(ckr.DEVICE_ERROR).message,
    ]);
    reader.end();
    expect(thread.uses).toEqual([`create ${id} P-256`]);
    remove(id);
  });
});

describe('what a thread is asked', () => {
  it('is refused by the purpose of the key', () => {
    const thread = new Thread();
    const [caller, root, general] = [newKeyId('caller'), newKeyId('root'), newKeyId('general')];
    for (const id of [caller, root, general]) thread.create(id);
    const own = thread.mac(general);
    const asked = (id: KeyId, proofs?: Proofs): string => {
      const { status, text } = thread.ask(operations.sign, writeSign(id, ecdsa, [digest], proofs));
      expect(status).toBe(statuses.forbidden);
      return text;
    };
    expect(asked(caller)).toBe("a caller's key signs only with a proof");
    expect(asked(root)).toBe(`the key ${root} signs no digests, only messages that fit its purpose`);
    expect(asked(general, { anyOf: [own] })).toBe('a service key has no secret');
    expect(thread.status(operations.signAsService, writeServiceSign(root, ecdsa, Buffer.from('anything')))).toBe(statuses.forbidden);
    expect(thread.uses.filter((use) => use.startsWith('sign'))).toEqual([]);
    const { status, body } = thread.ask(operations.signAsService, writeServiceSign(root, ecdsa, keyTrial));
    expect([status, body.length]).toEqual([statuses.ok, 64]);
    expect(thread.uses.at(-1)).toBe(`sign ${root} ECDSA sha256:${createHash('sha256').update(keyTrial).digest('hex')}`);
    remove(caller, root, general);
  });

  it("may be to give a key its purpose where it serves an operator's command", () => {
    const legacy = parseKeyId(`53${'b'.repeat(32)}`);
    const body = messages.writeAssignPurpose(legacy, 'root');
    expect(new Thread().ask(operations.assignPurpose, body)).toMatchObject({
      status: statuses.forbidden,
      text: "only an operator's command assigns a purpose to a key",
    });
    expect(new Thread('operator').status(operations.assignPurpose, body)).toBe(statuses.noSuchKey);
  });

  it.each([
    [0, statuses.malformed],
    [1, statuses.ok],
    [1024, statuses.ok],
    [1025, statuses.malformed],
  ])('may be %i random bytes: status %i', (length, status) => {
    const answer = new Thread().ask(operations.random, new FieldWriter().u32(length).finish());
    expect(answer.status).toBe(status);
    if (status === statuses.ok) expect(answer.body).toHaveLength(length);
    expect(new Thread().status(operations.random, new FieldWriter().u32(length).u8(0).finish())).toBe(statuses.malformed);
  });

  it('may be where the account ends, and what the token is, and nothing that nobody knows', () => {
    const thread = new Thread();
    thread.heads.push({ chain: 1, n: 7, hash: 'ab' });
    expect(JSON.parse(thread.ask(operations.accountHeads, Buffer.alloc(0)).text)).toEqual(thread.heads);
    expect(JSON.parse(thread.ask(operations.reportProbe, Buffer.from('{}')).text)).toEqual({
      ...probed.report,
      token: { ...probed.report.token, sessions: expect.anything() as unknown },
    });
    expect(thread.ask(99, Buffer.alloc(0))).toMatchObject({ status: statuses.malformed, text: 'unknown operation 99' });
    expect(thread.ask(operations.reportProbe, Buffer.from('{"full":true}'))).toMatchObject({
      status: statuses.malformed,
      text: 'a serving host makes no full probe',
    });
    expect(thread.ask(operations.reportSlots, Buffer.from('slots?'))).toMatchObject({
      status: statuses.malformed,
      text: 'the question is not JSON',
    });
    expect(thread.status(operations.reportMechanisms, Buffer.from('{"slot":"x"}'))).toBe(statuses.malformed);
    expect(thread.ask(operations.reportMechanisms, Buffer.from('{"slot":"99"}'))).toMatchObject({
      status: statuses.malformed,
      text: 'there is no slot 99',
    });
    const slot = token.slot.readBigUInt64LE().toString();
    expect(thread.ask(operations.reportMechanisms, Buffer.from(JSON.stringify({ slot }))).text).toBe(
      thread.ask(operations.reportMechanisms, Buffer.from('{}')).text,
    );
  });

  it('may be to mark a key as handed out', () => {
    const thread = new Thread();
    const [id, other] = [newKeyId('caller'), newKeyId('caller')];
    const outcome = (key: KeyId, text = claim): string =>
      messages.readClaimOutcome(Buffer.from(thread.ask(operations.claimKey, messages.writeClaimKey(key, text)).body));
    thread.create(id);
    expect([outcome(id), outcome(id), outcome(id, 'a'.repeat(32)), outcome(other)]).toEqual(['claimed', 'claimed', 'taken', 'gone']);
    thread.create(other);
    token.failNext('C_SetAttributeValue', 0x10);
    expect(outcome(other)).toBe('unmarkable');
    token.failNext('C_SetAttributeValue', ckr.DEVICE_ERROR);
    expect(thread.status(operations.claimKey, messages.writeClaimKey(other, claim))).toBe(statuses.lost);
    remove(id, other);
  });

  it('may be a MAC or a signature of a whole message, which the account has', () => {
    const thread = new Thread();
    const [mac, signer] = [newKeyId('mac'), newKeyId('general')];
    const message = Buffer.from('document');
    const hmac = { scheme: 'HMAC', hash: 'sha384' } as const;
    expect(thread.status(operations.createMessageKey, writeCreateMessageKey(mac, { ...hmac, bytes: 48 }))).toBe(statuses.ok);
    expect(thread.status(operations.createMessageKey, writeCreateMessageKey(signer, { scheme: 'Ed25519' }))).toBe(statuses.ok);
    const made = thread.ask(operations.signMessage, writeSignMessage(mac, hmac, message));
    expect(thread.status(operations.signMessage, writeSignMessage(signer, { scheme: 'Ed25519' }, message))).toBe(statuses.ok);
    expect(thread.ask(operations.verifyMac, writeVerifyMac(mac, 'sha384', message, Buffer.from(made.body))).body).toEqual(Buffer.of(1));
    expect(thread.uses).toEqual([
      `create ${mac} HMAC`,
      `create ${signer} Ed25519`,
      `message ${mac} HMAC:sha384 sha256:${digest.toString('hex')}`,
      `message ${signer} Ed25519 sha256:${digest.toString('hex')}`,
    ]);
    remove(mac, signer);
  });
});

describe('a secret', () => {
  it('is compared by the token, and what was wrong is counted and in the account', () => {
    const thread = new Thread();
    const id = newKeyId('caller');
    const right = thread.mac(id);
    expect(thread.uses).toEqual([`mac ${id} PASSWORD ${Buffer.from(right.salt).toString('hex')}`]);
    expect(thread.verify(id, { anyOf: [right] })).toMatchObject({ status: statuses.ok, body: Buffer.of(0) });
    expect([thread.checked, thread.counted]).toEqual([[id], []]);
    expect(thread.verify(id, { anyOf: [wrong(right)] })).toMatchObject({ status: statuses.wrongSecret, text: '' });
    expect(thread.verify(id, { anyOf: [wrong(right), wrong(right), right] })).toMatchObject({ body: Buffer.of(2) });
    expect(thread.verify(newKeyId('caller'), { anyOf: [right] }).status).toBe(statuses.wrongSecret);
    expect(thread.verify(id, { anyOf: [{ ...right, mac: right.mac.subarray(1) }] }).status).toBe(statuses.wrongSecret);
    expect(thread.counted.map(([, count]) => count)).toEqual([1, 2, 1, 1]);
    expect(thread.uses.slice(1, 3)).toEqual([`wrong ${id} 1`, `wrong ${id} 2`]);
    expect(thread.uses).toHaveLength(5);
  });

  it('lets a key sign with the candidate that may, and only where the other one is right as well', () => {
    const thread = new Thread();
    const id = newKeyId('caller');
    thread.create(id);
    const [right, transaction] = [thread.mac(id), thread.mac(id, 'TRANSACTION', 'T-1')];
    const signs = (proofs: Proofs): [number, number | undefined, number] => {
      const { status, body } = thread.ask(operations.sign, writeSign(id, ecdsa, [digest], proofs));
      if (status !== statuses.ok) return [status, undefined, 0];
      const reader = new FieldReader(Buffer.from(body));
      return [status, reader.u8(), reader.list().length];
    };
    expect(signs({ anyOf: [wrong(right), right] })).toEqual([statuses.ok, 1, 1]);
    expect(signs({ anyOf: [{ ...right, signs: false }] })).toEqual([statuses.ok, 0, 0]);
    expect(signs({ anyOf: [right], also: transaction })).toEqual([statuses.ok, 0, 1]);
    expect(signs({ anyOf: [right], also: wrong(transaction) })).toEqual([statuses.wrongSecret, undefined, 0]);
    expect(signs({ anyOf: [wrong(right)] })).toEqual([statuses.wrongSecret, undefined, 0]);
    expect(thread.counted).toEqual([
      [id, 1],
      [id, 1],
      [id, 1],
    ]);
    expect(thread.uses.filter((use) => use.startsWith('sign'))).toHaveLength(2);
    remove(id);
  });

  it('is not compared while its key is held back', () => {
    const thread = new Thread();
    const id = newKeyId('caller');
    const right = thread.mac(id);
    thread.heldBackUntil = 1_790_000_000_000;
    const compare = vi.spyOn(token.module, 'C_VerifyInit');
    expect(thread.verify(id, { anyOf: [right] })).toMatchObject({ status: statuses.heldBack, text: '1790000000000' });
    expect(compare).not.toHaveBeenCalled();
    expect(thread.counted).toEqual([]);
  });

  it('is none if it is a seal: that is not held back and not counted, unless a secret is beside it', () => {
    const thread = new Thread();
    const id = newKeyId('caller');
    const [seal, right] = [thread.mac(id, 'RECORD', 'a row'), thread.mac(id)];
    expect(thread.verify(id, { anyOf: [seal] }).status).toBe(statuses.ok);
    expect(thread.verify(id, { anyOf: [wrong(seal)] }).status).toBe(statuses.wrongSecret);
    expect(thread.verify(id, { anyOf: [seal], also: wrong(seal) }).status).toBe(statuses.wrongSecret);
    expect([thread.checked, thread.counted]).toEqual([[], []]);
    expect(thread.verify(id, { anyOf: [seal], also: wrong(right) }).status).toBe(statuses.wrongSecret);
    expect(thread.verify(id, { anyOf: [wrong(seal), wrong(right)] }).status).toBe(statuses.wrongSecret);
    expect([thread.checked, thread.counted.map(([, count]) => count)]).toEqual([
      [id, id],
      [1, 1],
    ]);
  });

  it('is compared to the end, whatever was wrong before', () => {
    const thread = new Thread();
    const id = newKeyId('caller');
    const right = thread.mac(id);
    const compare = vi.spyOn(token.module, 'C_Verify');
    thread.verify(id, { anyOf: [right, wrong(right), right], also: right });
    expect(compare).toHaveBeenCalledTimes(4);
    thread.verify(id, { anyOf: [wrong(right), wrong(right)], also: wrong(right) });
    expect(compare).toHaveBeenCalledTimes(7);
  });

  it.each(['C_VerifyInit', 'C_Verify'] as const)('is neither right nor wrong where the token fails (%s)', (call) => {
    const thread = new Thread();
    const id = newKeyId('caller');
    const right = thread.mac(id);
    token.failNext(call, ckr.DEVICE_ERROR);
    expect(thread.verify(id, { anyOf: [wrong(right)] }).status).toBe(statuses.lost);
    expect(thread.counted).toEqual([]);
  });

  it('gets another salt and MAC each time', () => {
    const thread = new Thread();
    const id = newKeyId('caller');
    const made = [thread.mac(id), thread.mac(id)];
    expect(made.map(({ salt, mac }) => [salt.length, mac.length])).toEqual([
      [16, 32],
      [16, 32],
    ]);
    expect(made[0]?.salt).not.toEqual(made[1]?.salt);
    expect(made[0]?.mac).not.toEqual(made[1]?.mac);
  });

  it('has nothing to be compared with where the token has no MAC key, which is made on demand alone', () => {
    const first = new Thread();
    const check = first.ask(operations.checkMacKey, Buffer.alloc(0));
    expect([check.status, first.ask(operations.makeMacKey, Buffer.alloc(0)).text]).toEqual([statuses.ok, check.text]);
    for (const key of findMacKeys(token.session)) token.module.C_DestroyObject(token.session.handle, key);
    const thread = new Thread();
    expect(thread.ask(operations.checkMacKey, Buffer.alloc(0))).toMatchObject({
      status: statuses.noMacKey,
      text: 'the token has no MAC key',
    });
    const [secret, scope] = [randomBytes(8), Buffer.alloc(32)];
    expect(thread.status(operations.makeMac, messages.writeMakeMac(newKeyId('caller'), 'PASSWORD', secret, scope))).toBe(statuses.noMacKey);
    expect(thread.uses).toEqual([]);
    expect(thread.status(operations.makeMacKey, Buffer.alloc(0))).toBe(statuses.ok);
    expect(thread.ask(operations.checkMacKey, Buffer.alloc(0)).text).not.toBe(check.text);
  });
});

describe('an operation that was never ended', () => {
  it('holds the session, which is opened anew, and the request is carried out', () => {
    const thread = new Thread();
    const id = newKeyId('general');
    thread.create(id);
    const close = vi.spyOn(token.module, 'C_CloseSession');
    const [old] = thread.sessions;
    if (old === undefined) throw new Error('one session');
    token.module.C_SignInit(old.handle, { mechanism: pkcs11js.CKM_ECDSA }, thread.keys.get(id) ?? Buffer.alloc(0));
    expect(thread.status(operations.sign, writeSign(id, ecdsa, [digest]))).toBe(statuses.ok);
    expect(close.mock.calls).toEqual([[old.handle]]);
    expect(thread.sessions).toHaveLength(2);
    expect(thread.status(operations.sign, writeSign(id, ecdsa, [digest]))).toBe(statuses.ok);
    expect(thread.sessions).toHaveLength(2);
    remove(id);
  });

  it('is a fault where a new session has it as well, and where a key was to be made', () => {
    const thread = new Thread();
    const id = newKeyId('general');
    thread.create(id);
    const begin = token.module.C_SignInit.bind(token.module);
    let left = 2;
    // The trial with the MAC key works.
    vi.spyOn(token.module, 'C_SignInit').mockImplementation((session, mechanism, key) => {
      if (mechanism.mechanism !== pkcs11js.CKM_ECDSA || left === 0) return begin(session, mechanism, key);
      left -= 1;
      throw pkcs11Error(ckr.OPERATION_ACTIVE);
    });
    expect(thread.status(operations.sign, writeSign(id, ecdsa, [digest]))).toBe(statuses.fault);
    expect(thread.sessions).toHaveLength(2);
    token.failNext('C_GenerateKeyPair', ckr.OPERATION_ACTIVE);
    const { status, body } = thread.ask(operations.createKey, messages.writeCreateKey(newKeyId('general'), 'P-256'));
    expect([status, Buffer.from(body).readUInt32BE(0)]).toEqual([statuses.fault, ckr.OPERATION_ACTIVE]);
    // The key is not made again there: the first one may be on the token.
    expect(thread.sessions).toHaveLength(3);
    remove(id);
  });

  it('is none if something fails that has no code', () => {
    const thread = new Thread();
    vi.spyOn(token.module, 'C_GenerateRandom').mockImplementationOnce(() => {
      throw new Error('no idea');
    });
    const { status, body } = thread.ask(operations.random, new FieldWriter().u32(8).finish());
    const reader = new FieldReader(Buffer.from(body));
    expect([status, reader.u32(), reader.bytes().toString()]).toEqual([statuses.fault, 0xffffffff, 'no idea']);
  });
});

describe('the kept handle of a key', () => {
  it.each([ckr.KEY_HANDLE_INVALID, ckr.OBJECT_HANDLE_INVALID])('is looked for once more where it is stale (%i)', (code) => {
    const thread = new Thread();
    const id = newKeyId('general');
    thread.create(id);
    token.failNext('C_SignInit', code);
    expect(thread.status(operations.sign, writeSign(id, ecdsa, [digest]))).toBe(statuses.ok);
    expect(thread.told).toHaveLength(2);
    remove(id);
  });

  it('is found for a key that another host made', () => {
    const id = newKeyId('general');
    new Thread().create(id);
    const thread = new Thread();
    expect(thread.status(operations.sign, writeSign(id, ecdsa, [digest]))).toBe(statuses.ok);
    expect(thread.told).toEqual([{ kind: 'added', id, handle: thread.keys.get(id) }]);
    remove(id);
    expect(thread.ask(operations.sign, writeSign(id, ecdsa, [digest]))).toMatchObject({
      status: statuses.noSuchKey,
      text: `no key ${id} on the token`,
    });
  });
});
