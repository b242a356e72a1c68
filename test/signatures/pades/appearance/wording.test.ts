import { describe, expect, it } from 'vitest';
import { symbolText } from '../../../../src/signatures/pades/appearance/symbol-codes.ts';
import { dateWords } from '../../../../src/signatures/pades/appearance/wording.ts';

describe('dateWords', () => {
  const winter = new Date('2026-11-24T23:04:05Z');
  const summer = new Date('2026-07-01T09:00:00Z');

  it.each([
    [winter, 'en', 'UTC', '24 Nov 2026, 23:04:05\u00a0+00:00'],
    [winter, 'en', 'Europe/Paris', '25 Nov 2026, 00:04:05\u00a0+01:00'],
    [summer, 'fr', 'Europe/Paris', '1 juil. 2026, 11:00:00\u00a0+02:00'],
    [winter, 'fr', 'Asia/Kolkata', '25 nov. 2026, 04:34:05\u00a0+05:30'],
    [summer, 'en', 'America/St_Johns', '1 Jul 2026, 06:30:00\u00a0-02:30'],
  ] as const)('%o in %s and %s is %s', (date, language, timeZone, words) => {
    expect(dateWords(date, language, timeZone)).toBe(words);
  });
});

describe('symbolText', () => {
  it('reads the codes of the font', () => {
    expect(symbolText('abgDW \u00e5', 'SYMBOL')).toBe('αβγΔΩ ∑');
    expect(symbolText('4H\u00acn', 'ZAPF_DINGBATS')).toBe('✔★①■');
  });

  it('leaves characters that are no codes', () => {
    expect(symbolText('ж\n', 'SYMBOL')).toBe('ж\n');
  });
});
