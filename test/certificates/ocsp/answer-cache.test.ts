import { describe, expect, it, vi } from 'vitest';
import { AnswerCache } from '../../../src/certificates/ocsp/answer-cache.ts';

const later = (): number => Date.now() + 60_000;
const making = (answer: string, untilMs: number | undefined = later()) => vi.fn(async () => Promise.resolve({ answer, untilMs }));

describe('a kept answer', () => {
  it('is returned again, and created once for all concurrent requests', async () => {
    const kept = new AnswerCache<string>(10, Date.now);
    const make = making('good');
    expect(await Promise.all([kept.get('1', 1, make), kept.get('1', 1, make)])).toEqual(['good', 'good']);
    expect(kept.get('1', 1, make)).toBe('good');
    expect(make).toHaveBeenCalledTimes(1);
    expect(await kept.get('1', 2, make)).toBe('good');
    expect(make).toHaveBeenCalledTimes(2);
  });

  it('is not returned after a change, even if its creation began before', async () => {
    const kept = new AnswerCache<string>(10, Date.now);
    const begun = Promise.withResolvers<{ answer: string; untilMs: number }>();
    const before = kept.get('1', 1, async () => begun.promise);
    kept.forget('1');
    const after = kept.get('1', 1, making('revoked'));
    begun.resolve({ answer: 'good', untilMs: later() });
    expect([await before, await after]).toEqual(['good', 'revoked']);
    expect(kept.get('1', 1, making('never'))).toBe('revoked');
    kept.forgetAll();
    expect(await kept.get('1', 1, making('anew'))).toBe('anew');
  });

  it('is created again when it expires, immediately if it has no lifetime, and after a failure', async () => {
    const kept = new AnswerCache<string>(10, Date.now);
    await kept.get('1', 1, making('old', Date.now() - 1));
    expect(await kept.get('1', 1, making('new'))).toBe('new');
    await kept.get('2', 1, async () => Promise.resolve({ answer: 'unknown', untilMs: undefined }));
    expect(await kept.get('2', 1, making('good'))).toBe('good');
    await expect(kept.get('3', 1, async () => Promise.reject(new Error('no token')))).rejects.toThrow('no token');
    expect(await kept.get('3', 1, making('good'))).toBe('good');
  });

  it('is dropped if there are too many, the least recently used first', async () => {
    const kept = new AnswerCache<string>(2, Date.now);
    for (const certificate of ['1', '2']) await kept.get(certificate, 1, making(certificate));
    await kept.get('1', 1, making('never'));
    await kept.get('3', 1, making('3'));
    expect(kept.certificates).toBe(2);
    expect(kept.get('1', 1, making('never'))).toBe('1');
    expect(await kept.get('2', 1, making('again'))).toBe('again');
  });
});
