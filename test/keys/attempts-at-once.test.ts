import { describe, expect, it } from 'vitest';
import { AttemptSlots, KeyInUse } from '../../src/keys/attempt-slots.ts';
import { KnownSecrets } from '../../src/keys/known-secrets.ts';
import { makeOtp } from '../../src/keys/otp.ts';
import { mostWanted } from '../../src/keys/pool-levels.ts';
import { stretch, StretchedPasswords } from '../../src/keys/stretching.ts';
import { otpScope } from '../../src/keys/seals.ts';
import type { KeyType } from '../../src/config/key-types.ts';
import { newKeyId } from '../../src/token/key-id.ts';
import { activeKey } from '../support/active-key.ts';

const now = Date.now();
const soon = (): number => performance.now() + 20;
const later = (): number => performance.now() + 60_000;

describe('attempts on a key that are in flight', () => {
  it('are as many as may be at once; the next one waits for the end of one of them', async () => {
    const slots = new AttemptSlots(() => now);
    const key = activeKey();
    expect(slots.isBusy(key)).toBe(false);
    const [first, second] = [await slots.take(key, 2, later()), await slots.take(key, 2, later())];
    expect(slots.isBusy(key)).toBe(true);
    await expect(slots.take(key, 2, soon())).rejects.toThrow(KeyInUse);
    const third = slots.take(key, 2, later());
    first();
    (await third)();
    second();
    expect(slots.isBusy(key)).toBe(false);
  });

  it('are never more than the key has left', async () => {
    for (const [changes, left] of [
      [{ failuresInRow: 3, failuresSinceSuccess: 3 }, 2],
      [{ failuresInRow: 0, failuresSinceSuccess: 19 }, 1],
    ] as const) {
      const slots = new AttemptSlots(() => now);
      const key = activeKey(changes);
      const ends = await Promise.all(Array.from({ length: left }, async () => slots.take(key, 100, later())));
      await expect(slots.take(key, 100, soon())).rejects.toThrow(KeyInUse);
      for (const end of ends) end();
      expect(slots.isBusy(key)).toBe(false);
    }
  });

  it('of a key that is locked, or locks while they wait, are none', async () => {
    const slots = new AttemptSlots(() => now);
    const locked = { code: 'KEY_LOCKED' };
    await expect(slots.take(activeKey({ lockedUntil: now + 1 }), 1, later())).rejects.toMatchObject(locked);
    const key = activeKey();
    const end = await slots.take(key, 1, later());
    const waiting = slots.take(key, 1, later());
    key.failuresSinceSuccess = 20;
    end();
    await expect(waiting).rejects.toMatchObject(locked);
    expect(slots.isBusy(key)).toBe(false);
  });

  it('of one key keep none of another waiting, and all who wait are woken in time', async () => {
    const slots = new AttemptSlots(() => now);
    const [key, other] = [activeKey(), activeKey()];
    const end = await slots.take(key, 1, later());
    (await slots.take(other, 1, soon()))();
    const waiting = Array.from({ length: 5 }, async () => {
      const ended = await slots.take(key, 1, later());
      await new Promise(setImmediate);
      ended();
    });
    end();
    await Promise.all(waiting);
    expect(slots.isBusy(key)).toBe(false);
  });
});

describe('a secret that the token has accepted', () => {
  const given = (text: string, transactionId?: string, member: 'password' | 'authToken' = 'password') => ({
    member,
    bytes: Buffer.from(text),
    transactionId,
  });

  it('is known again for its key, with its transaction, until it is forgotten', () => {
    const secrets = new KnownSecrets();
    const [id, other] = [newKeyId('caller'), newKeyId('caller')];
    const mark = secrets.markOf(id, given('right'));
    expect(secrets.knows(id, mark)).toBe(false);
    secrets.remember(id, mark);
    expect(secrets.knows(id, secrets.markOf(id, given('right')))).toBe(true);
    for (const one of [given('wrong'), given('right', ''), given('right', 'x'), given('right', undefined, 'authToken')])
      expect(secrets.knows(id, secrets.markOf(id, one))).toBe(false);
    expect(secrets.knows(other, mark)).toBe(false);
    expect(secrets.markOf(other, given('right'))).not.toBe(mark);
    expect(new KnownSecrets().markOf(id, given('right'))).not.toBe(mark);
    secrets.remember(id, secrets.markOf(id, given('new')));
    expect(secrets.knows(id, mark)).toBe(false);
    secrets.forget(id);
    expect(secrets.knows(id, secrets.markOf(id, given('new')))).toBe(false);
  });

  it('cannot be made of another transaction and the rest of a secret', () => {
    const secrets = new KnownSecrets();
    const id = newKeyId('caller');
    const marks = [given('bc', 'a'), given('c', 'ab'), given('abc', ''), given('+abc'), given(' a', 'bc')].map((one) =>
      secrets.markOf(id, one),
    );
    expect(new Set(marks).size).toBe(marks.length);
  });

  it('is one of 10,000 at most: the oldest is forgotten', () => {
    const secrets = new KnownSecrets();
    const ids = Array.from({ length: 10_001 }, () => newKeyId('caller'));
    const marks = ids.map((id) => secrets.markOf(id, given('right')));
    for (const [index, id] of ids.entries()) {
      const mark = marks[index];
      if (mark !== undefined) secrets.remember(id, mark);
    }
    const known = ids.map((id, index) => secrets.knows(id, marks[index] ?? secrets.markOf(id, given('none'))));
    expect([known[0], known.slice(1).every(Boolean)]).toEqual([false, true]);
  });
});

describe('a password that is stretched', () => {
  it('is so by its salt, and once where the token has accepted it', async () => {
    const secrets = new KnownSecrets();
    const kept = new StretchedPasswords();
    const password = Buffer.from('password');
    const mark = secrets.markOf(newKeyId('caller'), { member: 'password', bytes: password, transactionId: undefined });
    const [salt, otherSalt] = [Buffer.alloc(16, 1), Buffer.alloc(16, 2)];
    const value = await stretch(password, salt);
    expect(value.length).toBe(32);
    expect(await kept.of(mark, password, salt)).toEqual(value);
    const marked = Buffer.from('kept');
    kept.keep(mark, salt, marked);
    expect(await kept.of(mark, password, salt)).toBe(marked);
    expect(await kept.of(mark, password, otherSalt)).toEqual(await stretch(password, otherSalt));
    expect(await stretch(password, otherSalt)).not.toEqual(value);
  });

  it('is stretched by scrypt with N = 2^14, r = 8, p = 1', async () => {
    // RFC 7914 §12, third vector, has p = 1 and 64 bytes; its first 32 are the same derivation cut short.
    const value = await stretch(Buffer.from('pleaseletmein'), Buffer.from('SodiumChloride'));
    expect(Buffer.from(value).toString('hex')).toBe('7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2');
  });
});

describe('a one-time password', () => {
  const key = activeKey({ protocol: 'OTP' });
  const tokenWith = (...draws: readonly Buffer[]) => {
    const left = [...draws];
    const macs: unknown[][] = [];
    return {
      macs,
      random: async (bytes: number) => Promise.resolve(left.shift() ?? Buffer.alloc(bytes, 1)),
      makeMac: async (...of: unknown[]) => {
        macs.push(of);
        return Promise.resolve({ salt: Buffer.alloc(16, macs.length), mac: Buffer.alloc(32, 7) });
      },
    };
  };
  const words = (...numbers: readonly number[]): Buffer => {
    const bytes = Buffer.alloc(4 * numbers.length);
    for (const [index, number] of numbers.entries()) bytes.writeUInt32BE(number, 4 * index);
    return bytes;
  };

  it.each([
    ['eight digits, with their leading zeros', [7], '00000007'],
    ['the last eight of a number', [1_234_567_890], '34567890'],
    ['the largest that favours none', [4_199_999_999], '99999999'],
    ['the next number where one would favour some', [4_200_000_000, 4_294_967_295, 12], '00000012'],
  ])('has %s', async (_name, numbers, expected) => {
    const { text } = await makeOtp(tokenWith(words(...numbers)), key, 'SIGN', { binding: undefined, now });
    expect(text).toBe(expected);
  });

  it('is drawn again where all numbers would favour some', async () => {
    const { text } = await makeOtp(tokenWith(words(4_294_967_295), words(5)), key, 'SIGN', { binding: undefined, now });
    expect(text).toBe('00000005');
  });

  it.each([
    ['SIGN', 'OTP_SIGN'],
    ['CHANGE_PASSWORD', 'OTP_CHANGE_PASSWORD'],
    ['REVOKE', 'OTP_REVOKE'],
  ] as const)('to %s is good for that alone, for 300 seconds and three attempts', async (action, kind) => {
    const token = tokenWith(words(7));
    const { row } = await makeOtp(token, key, action, { binding: [], now });
    expect(row).toMatchObject({
      reference: key.reference,
      action,
      attempts_left: 3,
      reserved_until: null,
      expires_at: now + 300_000,
      bound_digests: '[]',
    });
    // Its own, which covers what it authorises, and the seal of its row.
    const scope = otpScope(key.seal.scope, row, null);
    expect(token.macs).toEqual([
      [key.id, kind, Buffer.from('00000007'), scope],
      [key.id, 'RECORD', expect.any(Uint8Array), scope],
    ]);
    expect([row.salt, row.seal_salt]).toEqual([Buffer.alloc(16, 1), Buffer.alloc(16, 2)]);
  });
});

describe('the type of key that the pool wants most', () => {
  const levels = (entries: Record<string, number>) => new Map(Object.entries(entries) as [KeyType, number][]);
  const targets = levels({ 'P-256': 10, 'RSA-2048': 4, 'P-384': 0 });

  it('is the one with the smallest share, at rest; none where all are full', () => {
    expect(mostWanted(levels({ 'P-256': 9, 'RSA-2048': 3 }), targets, undefined)).toBe('RSA-2048');
    expect(mostWanted(levels({ 'P-256': 2, 'RSA-2048': 1 }), targets, undefined)).toBe('P-256');
    expect(mostWanted(levels({}), targets, undefined)).toBe('P-256');
    expect(mostWanted(levels({ 'P-256': 10, 'RSA-2048': 4 }), targets, undefined)).toBeUndefined();
    expect(mostWanted(levels({ 'P-256': 11, 'RSA-2048': 5 }), targets, undefined)).toBeUndefined();
  });

  it('is one that is asked for and below half, while the token is in use', () => {
    const asked = new Set<KeyType>(['RSA-2048']);
    expect(mostWanted(levels({ 'P-256': 0, 'RSA-2048': 1 }), targets, asked)).toBe('RSA-2048');
    expect(mostWanted(levels({ 'P-256': 0, 'RSA-2048': 2 }), targets, asked)).toBeUndefined();
    expect(mostWanted(levels({ 'P-256': 0, 'RSA-2048': 0 }), targets, new Set())).toBeUndefined();
  });
});
