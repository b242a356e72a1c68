import { mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  answeredCandidate,
  KeyHeldBack,
  prepareWrongSecrets,
  wrongSecretsRevealed,
  WrongSecrets,
} from '../../src/token/host/wrong-secrets.ts';
import { newKeyId, type KeyId } from '../../src/token/key-id.ts';
import type { Candidate, SecretKind } from '../../src/token/token.ts';

describe('the count of wrong secrets', () => {
  const limit = { atOnce: 3, intervalMs: 1000 };
  const begin = Date.UTC(2026, 0, 1);
  let directory: string;
  let id: KeyId;
  const failed = vi.fn<(reason: string) => void>();

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['Date'], now: begin });
    directory = mkdtempSync(join(tmpdir(), 'signetd-wrong-secrets-'));
    id = newKeyId('caller');
    prepareWrongSecrets(directory, limit);
    failed.mockClear();
  });
  afterEach(() => {
    vi.useRealTimers();
    rmSync(directory, { recursive: true, force: true });
  });

  const counter = (changes = new SharedArrayBuffer(4)): WrongSecrets => new WrongSecrets(directory, limit, changes, failed);
  const at = (ms: number): void => {
    vi.setSystemTime(begin + ms);
  };
  /** Until when the key is held back, from the beginning on; undefined where it is not. */
  function heldUntil(secrets: WrongSecrets, key: KeyId = id): number | undefined {
    try {
      secrets.check(key);
      return undefined;
    } catch (error) {
      if (error instanceof KeyHeldBack) return error.until - begin;
      throw error;
    }
  }
  function rows(): unknown[] {
    const database = new DatabaseSync(join(directory, 'wrong-secrets.sqlite'));
    const all = database.prepare('SELECT full_at FROM wrong_secrets').all();
    database.close();
    return all.map((row) => Number(row['full_at']) - begin);
  }

  it('allows a number of comparisons at once, and one more after each interval', () => {
    const secrets = counter();
    for (const held of [undefined, undefined, 1000]) {
      secrets.count(id, 1);
      expect(heldUntil(secrets)).toBe(held);
    }
    at(999);
    expect(heldUntil(secrets)).toBe(1000);
    at(1000);
    expect(heldUntil(secrets)).toBeUndefined();
    secrets.count(id, 1);
    expect(heldUntil(secrets)).toBe(2000);
    expect(heldUntil(secrets, newKeyId('caller'))).toBeUndefined();
  });

  it('never exceeds its maximum, however long no secret was wrong', () => {
    const secrets = counter();
    secrets.count(id, 1);
    at(60_000);
    secrets.count(id, 2);
    expect(heldUntil(secrets)).toBeUndefined();
    secrets.count(id, 1);
    expect(heldUntil(secrets)).toBe(61_000);
  });

  it('goes into debt if more secrets were wrong than a key had left', () => {
    const secrets = counter();
    secrets.count(id, 5);
    expect(heldUntil(secrets)).toBe(3000);
    at(2999);
    expect(heldUntil(secrets)).toBe(3000);
    at(3000);
    expect(heldUntil(secrets)).toBeUndefined();
  });

  it('is one for all threads, and for the next host', () => {
    const changes = new SharedArrayBuffer(4);
    const [one, other] = [counter(changes), counter(changes)];
    expect([heldUntil(one), heldUntil(other)]).toEqual([undefined, undefined]);
    one.count(id, 3);
    expect([heldUntil(one), heldUntil(other)]).toEqual([1000, 1000]);
    prepareWrongSecrets(directory, limit);
    expect(heldUntil(counter())).toBe(1000);
  });

  it('is read again where a key of another thread came to be held back or more was counted', () => {
    const changes = new SharedArrayBuffer(4);
    const [one, other] = [counter(changes), counter(changes)];
    one.count(id, 3);
    expect(heldUntil(other)).toBe(1000);
    one.count(id, 1);
    expect(heldUntil(other)).toBe(2000);
    at(2000);
    const next = newKeyId('caller');
    one.count(next, 4);
    expect([heldUntil(other), heldUntil(other, next)]).toEqual([undefined, 4000]);
  });

  it('forgets at a start what is over, and nothing else', () => {
    const secrets = counter();
    secrets.count(id, 1);
    secrets.count(newKeyId('caller'), 2);
    at(999);
    prepareWrongSecrets(directory, limit);
    expect(rows()).toHaveLength(2);
    at(1000);
    prepareWrongSecrets(directory, limit);
    expect(rows()).toEqual([2000]);
  });

  it('refuses no key for longer than a full count takes, after a clock was ahead', () => {
    at(1_000_000);
    counter().count(id, 3);
    at(0);
    prepareWrongSecrets(directory, limit);
    expect(rows()).toEqual([3000]);
    expect(heldUntil(counter())).toBe(1000);
  });

  it('stops all comparisons if it cannot be written, and reports why', () => {
    const secrets = counter();
    expect(heldUntil(secrets)).toBeUndefined();
    const database = new DatabaseSync(join(directory, 'wrong-secrets.sqlite'));
    database.exec('DROP TABLE wrong_secrets');
    database.close();
    expect(() => {
      secrets.count(id, 1);
    }).toThrow('wrong secrets cannot be counted: ');
    expect(failed.mock.calls).toEqual([[expect.stringMatching(/^wrong secrets cannot be counted: .*wrong_secrets/)]]);
    expect(() => {
      secrets.check(newKeyId('caller'));
    }).toThrow('wrong secrets cannot be counted');
  });

  it('is prepared without a file that stays open, and keeps a journal without shared memory', () => {
    const open = readdirSync('/proc/self/fd').flatMap((fd) => {
      try {
        return [readlinkSync(`/proc/self/fd/${fd}`)];
      } catch {
        // The descriptor that lists the directory is closed again.
        return [];
      }
    });
    expect(open.filter((path) => path.startsWith(directory))).toEqual([]);
    counter().count(id, 1);
    expect(readdirSync(directory).toSorted()).toEqual(['wrong-secrets.sqlite', 'wrong-secrets.sqlite-journal']);
  });
});

describe('of several candidates', () => {
  const bytes = Buffer.alloc(32);
  const of = (...kinds: SecretKind[]): Candidate[] =>
    kinds.map((kind) => ({ kind, salt: bytes, secret: bytes, scope: bytes, mac: bytes, signs: false }));
  const [word, otp, revoke] = ['PASSWORD', 'OTP_SIGN', 'OTP_REVOKE'] as const;

  it.each<[SecretKind[], boolean[], number | undefined]>([
    [[word], [false], undefined],
    [[word, otp], [false, false], undefined],
    [[word, word], [false, true], 1],
    [[word, word], [true, true], 0],
    [[word, otp], [true, false], 0],
    [[word, otp], [true, true], 1],
    [[word, 'OTP_CHANGE_PASSWORD'], [true, true], 1],
    [[word, revoke], [true, true], 1],
    [[word, 'TRANSACTION'], [true, true], 0],
    [[otp, otp, word], [false, true, true], 1],
  ])('%j that are right %j, one is answered, a one-time password first', (kinds, verdicts, by) => {
    expect(answeredCandidate(of(...kinds), verdicts)).toBe(by);
  });

  it.each<[SecretKind[], number | undefined, number]>([
    // None is right.
    [[word], undefined, 1],
    [[otp], undefined, 1],
    [[word, otp, revoke], undefined, 1],
    [[word, word, word], undefined, 3],
    [[word, otp, word, otp, otp], undefined, 3],
    // A password is.
    [[word], 0, 0],
    [[word, word], 0, 0],
    [[word, word, word], 2, 2],
    [[otp, word], 1, 0],
    [[word, otp, word], 2, 1],
    // A one-time password is.
    [[word, otp], 1, 0],
    [[word, word, otp], 2, 0],
    [[otp, word, otp], 2, 1],
    [[otp, otp, otp], 0, 0],
    [[otp, otp, otp], 1, 1],
    [[otp, revoke, otp], 2, 1],
    [[otp, otp, revoke], 2, 2],
  ])('%j with the right one at %s, %i were told to be wrong', (kinds, by, wrong) => {
    expect(wrongSecretsRevealed(of(...kinds), by)).toBe(wrong);
  });
});
