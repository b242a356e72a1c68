import { describe, expect, it } from 'vitest';
import { ObjectParser } from '../../../../src/pdf/object-parser.ts';
import { PdfDictionary, PdfReference, type PdfObject } from '../../../../src/pdf/objects.ts';
import { changedKeys, sameIndirect, sameObjects } from '../../../../src/signatures/pades/verify/same-objects.ts';
import { madePdf, usualObjects } from '../../../pdf/made-pdf.ts';
import { opened } from '../../../pdf/opened.ts';

function parsed(text: string): PdfObject {
  return new ObjectParser({ bytes: Buffer.from(text, 'latin1'), offset: 0, isLast: true }).object();
}

function dictionary(entries: string): PdfDictionary {
  const object = parsed(`<<${entries}>>`);
  if (!(object instanceof PdfDictionary)) throw new Error('no dictionary');
  return object;
}

const changed = (was: string, is: string): readonly string[] => changedKeys(dictionary(was), dictionary(is));

describe('two values', () => {
  it.each([
    ['/A', '/#41'],
    ['(a)', '<61>'],
    ['[1 (a) [2 null]]', '[ 1 <61> [2 null] ]'],
    ['<< /A 1 /B << /C [1 0 R] >> >>', '<< /B << /C [1 0 R] >> /A 1 >>'],
    ['<< /A null >>', '<< >>'],
    ['12 0 R', '12 0 R'],
    ['true', 'true'],
  ])('are the same: %s and %s', (one, other) => {
    expect([sameObjects(parsed(one), parsed(other)), sameObjects(parsed(other), parsed(one))]).toEqual([true, true]);
  });

  it.each([
    ['/A', '(A)'],
    ['/A', '/B'],
    ['(a)', '(b)'],
    ['(a)', '/a'],
    ['[1 2]', '[1]'],
    ['[1 2]', '[2 1]'],
    ['[1 null]', '[1]'],
    ['[1]', '1'],
    ['[1]', '<< /A 1 >>'],
    ['<< /A 1 >>', '<< /A 2 >>'],
    ['<< /A 1 >>', '<< /A 1 /B 1 >>'],
    ['12 0 R', '13 0 R'],
    ['12 0 R', '12 1 R'],
    ['12 0 R', '12'],
    ['null', 'false'],
    ['1', 'true'],
  ])('are not the same: %s and %s', (one, other) => {
    expect([sameObjects(parsed(one), parsed(other)), sameObjects(parsed(other), parsed(one))]).toEqual([false, false]);
  });
});

describe('two dictionaries', () => {
  it('differ by the keys of other values, and of those that only one has', () => {
    expect(changed('/A 1 /B 2 /C 3', '/A 1 /B 4 /D 5')).toEqual(['B', 'C', 'D']);
  });

  it.each(['UserUnit', 'CA', 'W', 'DW', 'StemV', 'MissingWidth'])('may write a number with a point: %s', (key) => {
    expect(changed(`/${key} 1`, `/${key} 1.0`)).toEqual([]);
    expect(changed('/Rotate 90', '/Rotate 90.0')).toEqual(['Rotate']);
    expect(changed(`/${key} 1`, `/${key} 1.5`)).toEqual([key]);
  });

  it.each(['T', 'TU', 'TM', 'V', 'DV', 'Opt', 'CA', 'RC', 'AC'])('may write a text in another encoding: %s', (key) => {
    const text = (value: string): string => `/${key} ${value}`;
    expect(changed(text('(Zo\\351)'), text('<FEFF005A006F00E9>'))).toEqual([]);
    expect(changed(text('[(a) [(b)]]'), text('[<FEFF0061> [<FEFF0062>]]'))).toEqual([]);
    expect(changed('/Reason (a)', '/Reason <FEFF0061>')).toEqual(['Reason']);
  });

  it.each([
    ['another text', '(ab)', '<FEFF0061>'],
    ['half a character', '(a)', '<FEFF006100>'],
    ['the other order of bytes', '(a)', '<FFFE6100>'],
    ['the other order of bytes twice', '<FFFE6100>', '<FFFE61000>'],
    ['UTF-8', '(a)', '<EFBBBF61>'],
    ['a language', '(a)', '<FEFF001B0065006E001B0061>'],
    ['a language, in both', '<FEFF001B0065006E001B0061>', '<FEFF001B00640065001B0061>'],
    ['a character that only one encoding has', '<80>', '<FEFF2022>'],
    ['a character beyond Latin-1', '<FEFF0100>', '<FEFF01000>'],
    ['a list', '(a)', '[<FEFF0061>]'],
    ['a longer list', '[(a)]', '[<FEFF0061> (b)]'],
    ['a shorter list', '[(a) (b)]', '[<FEFF0061>]'],
    ['a name', '(a)', '/a'],
  ])('have other texts: %s', (_, was, is) => {
    expect([changed(`/V ${was}`, `/V ${is}`), changed(`/V ${is}`, `/V ${was}`)]).toEqual([['V'], ['V']]);
  });

  it('have the same text where only its first bytes resemble a mark', () => {
    // Þÿ without the mark's second byte, ÿ, ï» and half of them.
    for (const text of ['\xfe1', '1\xff', '\xff1', '1\xfe', '\xef1\xbf', '1\xbb\xbf', '\xef\xbb1'])
      expect(changed(`/V (${text})`, `/V <FEFF${Buffer.from(text, 'utf16le').swap16().toString('hex')}>`)).toEqual([]);
  });
});

describe('two objects of a file', () => {
  const bytes = Buffer.from('q Q');
  const same = (one: string, other: string, [first, second] = [bytes, bytes]): boolean => {
    const [before, after] = [
      { entries: one, bytes: first ?? bytes },
      { entries: other, bytes: second ?? bytes },
    ].map((stream) => opened(madePdf({ ...usualObjects(), 20: stream })));
    if (before === undefined || after === undefined) throw new Error('no files');
    const object = new PdfReference(20, 0);
    return sameIndirect(before, before.object(object), after, after.object(object));
  };

  it('are the same streams by their bytes, or by their contents without filters', () => {
    expect(same('/A 1', '/A 1')).toBe(true);
    expect(same('/Filter /DCTDecode', '/Filter /DCTDecode')).toBe(true);
    expect(same('/A 1', '/A 2')).toBe(false);
    expect(same('', '', [bytes, Buffer.from('q q')])).toBe(false);
    expect(same('', '', [bytes, Buffer.from('q Q ')])).toBe(false);
    expect(same('/Filter /DCTDecode', '/Filter /DCTDecode', [bytes, Buffer.from('q q')])).toBe(false);
    expect(same('/Filter /FlateDecode', '/Filter /FlateDecode', [bytes, Buffer.from('q q')])).toBe(false);
    expect(same('/Filter [/Crypt]', '')).toBe(false);
    expect(same('', '/DecodeParms << /Predictor 1 >>')).toBe(false);
  });

  it('are never the same if they are numbers', () => {
    const file = opened(madePdf(usualObjects()));
    expect([sameIndirect(file, 1, file, 1), sameIndirect(file, [1], file, [1])]).toEqual([false, true]);
  });
});
