import { beforeAll, describe, expect, it } from 'vitest';
import { tenantId } from '../../src/clients/caller.ts';
import { givenSecret, passwordBytes, requiredSecret } from '../../src/keys/credentials.ts';
import { bindingOf, bindingText, coversDigests, type BoundDigest } from '../../src/keys/digest-binding.ts';
import {
  checkNotLocked,
  checkUsable,
  isLocked,
  isLockedForGood,
  parseKeyReferenceId,
  recordOf,
  remainingAttempts,
  setCounters,
  standingOf,
  stateOf,
  type KeyRecord,
} from '../../src/keys/key-record.ts';
import { keyStates, storedStates, storedStatesFor, uses, type Use } from '../../src/keys/states.ts';
import { activeKey, storedRow } from '../support/active-key.ts';

const tenant = tenantId('demo');
const refused = (code: string): unknown => expect.objectContaining({ code });
let active: KeyRecord;
let now: number;

beforeAll(() => {
  active = activeKey();
  now = active.certificate.notBefore.getTime() + 1000;
});

const key = (changes: Partial<KeyRecord>): KeyRecord => ({ ...active, ...changes });

describe('the reference of a key', () => {
  it('is 40 hexadecimal digits, in either case', () => {
    expect(parseKeyReferenceId('Ab'.repeat(20))).toBe('ab'.repeat(20));
    for (const text of ['', 'a'.repeat(39), 'a'.repeat(41), `${'a'.repeat(39)}g`, `${'a'.repeat(40)}\n`, ` ${'a'.repeat(40)}`])
      expect(() => parseKeyReferenceId(text)).toThrow(RangeError);
  });
});

describe('a record of the store', () => {
  it.each([
    ['key type', { key_type: 'P-1' }],
    ['protocol', { protocol: 'NONE' }],
    ['state', { state: 'LOST' }],
  ])('with a %s that nobody knows is refused', (_name, changes) => {
    expect(() => recordOf({ ...storedRow(), ...changes }, tenant, undefined)).toThrow('unknown');
  });
});

it('a key whose row was found changed is of no use, whatever its state and its failures are', () => {
  expect(() => {
    checkUsable(key({}), 'sign', now);
  }).not.toThrow();
  for (const changes of [{}, { state: 'REVOKED', lockedUntil: now + 1000 }] as const)
    expect(() => {
      checkUsable(key({ fault: 'changed', ...changes }), 'sign', now);
    }).toThrow(refused('ACTIVATION_FAILED'));
});

describe('what is told of a key that the token host holds back', () => {
  const held = (changes: Partial<KeyRecord> = {}): KeyRecord => key({ heldBackUntil: now + 5000, ...changes });

  it('is LOCKED until then, and nothing goes by it', () => {
    expect(standingOf(held(), now, now)).toEqual({ state: 'LOCKED', remainingAttempts: 0, lockedUntil: now + 5000 });
    expect(standingOf(held(), now, now + 5000)).toEqual({ state: 'ACTIVE', remainingAttempts: 5, lockedUntil: undefined });
    expect([stateOf(held(), now), remainingAttempts(held(), now)]).toEqual(['ACTIVE', 5]);
  });

  it('is the later end where failures lock it too, each by its own clock', () => {
    const both = (lockedUntil: number): KeyRecord => held({ failuresInRow: 5, lockedUntil });
    expect(standingOf(both(now + 9000), now, now).lockedUntil).toBe(now + 9000);
    expect(standingOf(both(now + 1000), now, now).lockedUntil).toBe(now + 5000);
    expect(standingOf(both(now + 1000), now, now + 6000)).toEqual({ state: 'LOCKED', remainingAttempts: 0, lockedUntil: now + 1000 });
  });

  it('is its state where that says more', () => {
    expect(standingOf(held({ state: 'REVOKED' }), now, now).state).toBe('REVOKED');
  });
});

describe('a lock', () => {
  it('holds until its moment, and that of the operator for good', () => {
    const until = key({ lockedUntil: now + 1000, failuresInRow: 5, failuresSinceSuccess: 5 });
    expect([isLocked(until, now), isLocked(until, now + 999), isLocked(until, now + 1000)]).toEqual([true, true, false]);
    expect([stateOf(until, now), stateOf(until, now + 1000)]).toEqual(['LOCKED', 'ACTIVE']);
    expect(() => checkNotLocked(until, now)).toThrow(`locked until ${new Date(now + 1000).toISOString()}`);
    expect(() => checkNotLocked(until, now + 1000)).not.toThrow();
    expect(isLockedForGood(key({ failuresSinceSuccess: 19 }))).toBe(false);
    const forGood = key({ failuresSinceSuccess: 20 });
    expect([isLockedForGood(forGood), isLocked(forGood, now + 1e12)]).toEqual([true, true]);
    expect(() => checkNotLocked(forGood, now)).toThrow('until the operator unlocks it');
  });

  it('comes after five failures in a row and after twenty without a success, whichever is nearer', () => {
    for (const [failuresInRow, failuresSinceSuccess, remaining] of [
      [0, 0, 5],
      [4, 4, 1],
      [0, 17, 3],
      [3, 19, 1],
      [5, 5, 0],
      [0, 20, 0],
    ] as const)
      expect(remainingAttempts(key({ failuresInRow, failuresSinceSuccess }), now)).toBe(remaining);
    // A lock that has ended gives five more, up to the twentieth.
    const ended = { lockedUntil: now - 1, failuresInRow: 5 };
    expect(remainingAttempts(key({ ...ended, failuresSinceSuccess: 5 }), now)).toBe(5);
    expect(remainingAttempts(key({ ...ended, failuresSinceSuccess: 18 }), now)).toBe(2);
    expect(remainingAttempts(key({ ...ended, lockedUntil: now + 1, failuresSinceSuccess: 5 }), now)).toBe(0);
  });

  it('is taken over as the store has it', () => {
    const changed = key({ lockedUntil: now, failuresInRow: 3, failuresSinceSuccess: 8 });
    setCounters(changed, { failures_in_row: 0, failures_since_success: 0, locked_until: null });
    expect([changed.failuresInRow, changed.failuresSinceSuccess, changed.lockedUntil]).toEqual([0, 0, undefined]);
    setCounters(changed, { failures_in_row: 5, failures_since_success: 6, locked_until: now + 1 });
    expect([changed.failuresInRow, changed.failuresSinceSuccess, changed.lockedUntil]).toEqual([5, 6, now + 1]);
  });
});

describe('the state of a key', () => {
  it('is what the store says until the certificate ends; what has ended for good stays as it was', () => {
    const end = active.certificate.notAfter.getTime();
    const at = (moment: number): string[] => storedStates.map((state) => stateOf(key({ state }), moment));
    expect(at(end - 1)).toEqual([...storedStates]);
    expect(at(end)).toEqual(['EXPIRED', 'EXPIRED', 'REVOKED', 'CONSUMED', 'REMOVED', 'LEFT_BEHIND']);
  });

  it('says LOCKED of a key in use alone', () => {
    const locked = storedStates.map((state) => stateOf(key({ state, failuresSinceSuccess: 20 }), now));
    expect(locked).toEqual(['LOCKED', 'ON_HOLD', 'REVOKED', 'CONSUMED', 'REMOVED', 'LEFT_BEHIND']);
  });

  it.each([
    ['sign', ['ACTIVE']],
    ['changePassword', ['ACTIVE']],
    ['remove', ['ACTIVE', 'EXPIRED', 'ON_HOLD', 'REVOKED']],
    ['revoke', ['ACTIVE', 'CONSUMED', 'EXPIRED', 'ON_HOLD', 'REMOVED', 'REVOKED']],
    ['check', ['ACTIVE', 'EXPIRED', 'ON_HOLD', 'REVOKED']],
  ] as const)('decides what may be asked of it (contract §6): %s', (use: Use, allowed) => {
    expect([...uses[use].states].toSorted()).toEqual([...allowed]);
    expect([...storedStatesFor(use)].toSorted()).toEqual(allowed.filter((state) => state !== 'EXPIRED'));
    const end = active.certificate.notAfter.getTime();
    for (const state of keyStates) {
      if (state === 'LOCKED') continue;
      const moment = state === 'EXPIRED' ? end : now;
      const one = key({ state: state === 'EXPIRED' ? 'ACTIVE' : state });
      if ((allowed as readonly string[]).includes(state)) {
        expect(() => checkUsable(one, use, moment)).not.toThrow();
        // A lock keeps from all of it.
        expect(() => checkUsable({ ...one, failuresSinceSuccess: 20 }, use, moment)).toThrow(refused('KEY_LOCKED'));
      } else {
        expect(() => checkUsable(one, use, moment), `${use} ${state}`).toThrow(refused('KEY_STATE'));
        expect(() => checkUsable({ ...one, failuresSinceSuccess: 20 }, use, moment)).toThrow(refused('KEY_STATE'));
      }
    }
  });
});

describe('the secret that counts', () => {
  const members = { password: 'p', authToken: 'a', transactionId: 't' };

  it.each([
    ['PASSWORD', 'SIGN', 'password'],
    ['PASSWORD', 'REVOKE', 'password'],
    ['OTP', 'SIGN', 'password'],
    ['OTP', 'CHANGE_PASSWORD', 'password'],
    ['SINGLE_USE', 'SIGN', 'authToken'],
    ['SINGLE_USE', 'REVOKE', 'authToken'],
  ] as const)('for a key of %s to %s is its %s', (protocol, action, member) => {
    const given = givenSecret(key({ protocol }), action, members);
    expect(given).toEqual({ member, bytes: Buffer.from(member === 'password' ? 'p' : 'a'), transactionId: 't' });
  });

  it('in the wrong member is none', () => {
    expect(givenSecret(key({ protocol: 'PASSWORD' }), 'SIGN', { authToken: 'a' })).toBeUndefined();
    expect(givenSecret(key({ protocol: 'OTP' }), 'SIGN', { authToken: 'a' })).toBeUndefined();
    expect(givenSecret(key({ protocol: 'SINGLE_USE' }), 'SIGN', { password: 'p' })).toBeUndefined();
    expect(givenSecret(key({ protocol: 'PASSWORD' }), 'SIGN', { transactionId: 't' })).toBeUndefined();
    // The end of a single-use key may be authorised by a one-time password.
    expect(givenSecret(key({ protocol: 'SINGLE_USE' }), 'REVOKE', { password: 'p' })?.member).toBe('password');
  });

  it.each([
    ['PASSWORD', '/keyReference/password'],
    ['OTP', '/keyReference/password'],
    ['SINGLE_USE', '/keyReference/authToken'],
  ] as const)('and is missing is named: %s', (protocol, at) => {
    expect(() => requiredSecret(key({ protocol }), 'SIGN', {})).toThrow(expect.objectContaining({ code: 'FIELD_MISSING', at }) as Error);
  });

  it('is compared in NFC', () => {
    expect(passwordBytes('e\u0301')).toEqual(Buffer.from('\u00e9'));
  });
});

describe('the digests that a key is bound to', () => {
  const digest = (id: string, octet: number, hash: BoundDigest['hash'] = 'sha256'): BoundDigest => ({
    id,
    hash,
    value: Buffer.alloc(32, octet),
  });

  it('cover a list where every entry of it is among them, by ID, hash and value', () => {
    const binding = [digest('a', 1), digest('b', 2)];
    expect(coversDigests(undefined, [digest('z', 9)])).toBe(true);
    expect(coversDigests(binding, binding)).toBe(true);
    expect(coversDigests(binding, [digest('b', 2)])).toBe(true);
    expect(coversDigests(binding, [])).toBe(true);
    for (const other of [digest('a', 2), digest('c', 1), digest('a', 1, 'sha384')])
      expect(coversDigests(binding, [digest('b', 2), other])).toBe(false);
    expect(coversDigests([], [digest('a', 1)])).toBe(false);
  });

  it('are read as they were written, and nothing else is', () => {
    const binding = [digest('a', 1), digest('b', 2, 'sha512')];
    expect(bindingOf(bindingText(binding))).toEqual(binding);
    expect([bindingText(undefined), bindingOf(null)]).toEqual([null, undefined]);
    expect(bindingOf(bindingText([]))).toEqual([]);
    for (const text of ['{}', '[{"id":"a"}]', '[{"id":"a","hash":"md5","value":""}]', '[{"id":"a","hash":"sha256","value":"","more":1}]'])
      expect(() => bindingOf(text)).toThrow();
  });
});
