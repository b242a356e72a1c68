import { deflateSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { ObjectParser } from '../../../../src/pdf/object-parser.ts';
import { PdfDictionary, PdfReference, PdfStream, PdfString, type PdfObject } from '../../../../src/pdf/objects.ts';
import type { PdfFile } from '../../../../src/pdf/pdf-file.ts';
import { changedKeys, referencesIn, refersTo, sameIndirect, sameObjects } from '../../../../src/signatures/pades/verify/same-objects.ts';
import { encryptedPdf } from '../../../support/encrypted-pdf.ts';
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
    ['[1 2]', '[1 3]'],
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

it('compares strings by what they are without encryption', () => {
  const encrypted = (raw: number): PdfString => new PdfString(Buffer.of(raw), (bytes) => bytes.map((byte) => byte % 16));
  expect(sameObjects(encrypted(0x11), encrypted(0x21))).toBe(true);
  expect(sameObjects(encrypted(0x11), encrypted(0x12))).toBe(false);
});

describe('two dictionaries', () => {
  it('differ by the keys of other values, and of those that only one has', () => {
    expect(changed('/A 1 /B 2 /C 3', '/A 1 /B 4 /D 5')).toEqual(['B', 'C', 'D']);
  });

  it.each([
    ...['UserUnit', 'Dur', 'CA', 'ca', 'LW', 'ML', 'FL', 'SM', 'W', 'DW', 'Gamma', 'ItalicAngle', 'Ascent', 'Descent', 'Leading'],
    ...['CapHeight', 'XHeight', 'StemV', 'StemH', 'AvgWidth', 'MaxWidth', 'MissingWidth'],
  ])('may write a number with a point: %s', (key) => {
    expect(changed(`/${key} 1`, `/${key} 1.0`)).toEqual([]);
    expect(changed('/Rotate 90', '/Rotate 90.0')).toEqual(['Rotate']);
    expect(changed(`/${key} 1`, `/${key} 1.5`)).toEqual([key]);
  });

  it.each(['T', 'TU', 'TM', 'V', 'DV', 'Opt', 'CA', 'RC', 'AC'])('may write a text in another encoding: %s', (key) => {
    const text = (value: string): string => `/${key} ${value}`;
    expect(changed(text('(Zo\\351)'), text('<FEFF005A006F00E9>'))).toEqual([]);
    expect(changed(text('[(a) [(b)]]'), text('[<FEFF0061> [<FEFF0062>]]'))).toEqual([]);
    for (const other of ['Reason', 'DA', 'Contents', 'M', 'NM']) expect(changed(`/${other} (a)`, `/${other} <FEFF0061>`)).toEqual([other]);
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
    ['a character of which only one encoding knows the code', '<96>', '<FEFF0152>'],
    ['an accent of its own', '<18>', '<FEFF02D8>'],
    ['a control character', '<01>', '<FEFF0001>'],
    ['a character that is deleted', '<7F>', '<FEFF007F>'],
    ['the second of a list', '[(a) (b)]', '[<FEFF0061> <FEFF0063>]'],
    ['a list', '(a)', '[<FEFF0061>]'],
    ['a longer list', '[(a)]', '[<FEFF0061> (b)]'],
    ['a shorter list', '[(a) (b)]', '[<FEFF0061>]'],
    ['a name', '(a)', '/a'],
  ])('have other texts: %s', (_, was, is) => {
    expect([changed(`/V ${was}`, `/V ${is}`), changed(`/V ${is}`, `/V ${was}`)]).toEqual([['V'], ['V']]);
  });

  it('have the same text in both encodings by all characters that these share', () => {
    const codes = [
      9,
      10,
      13,
      ...Array.from({ length: 95 }, (_, index) => 0x20 + index),
      ...Array.from({ length: 95 }, (_, index) => 0xa1 + index),
    ];
    const hex = (code: number): string => code.toString(16).padStart(2, '0');
    expect(codes.filter((code) => changed(`/V <${hex(code)}>`, `/V <FEFF00${hex(code)}>`).length > 0)).toEqual([]);
  });

  it('have the same text where only its first bytes resemble a mark', () => {
    // Þÿ without the mark's second byte, ÿ, ï» and half of them.
    for (const text of ['\xfe1', '\xfe12', '1\xff', '\xff1', '1\xfe', '\xef1\xbf', '1\xbb\xbf', '\xef\xbb1'])
      expect(changed(`/V (${text})`, `/V <FEFF${Buffer.from(text, 'utf16le').swap16().toString('hex')}>`)).toEqual([]);
  });
});

describe('two objects of a file', () => {
  const bytes = Buffer.from('q Q');
  const same = (one: string, other: string, [first, second] = [bytes, bytes]): boolean => {
    const [before, after] = [
      { entries: one, bytes: first ?? bytes },
      { entries: other, bytes: second ?? bytes },
    ].map((stream) => opened(madePdf({ ...usualObjects(), 20: stream, 21: '/FlateDecode', 22: 'null' })));
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

  it('are the same streams, compressed or not', () => {
    const compressed = deflateSync(bytes);
    for (const filter of ['/FlateDecode', '21 0 R']) {
      expect(same('', `/Filter ${filter}`, [bytes, compressed])).toBe(true);
      expect(same(`/Filter ${filter}`, '', [compressed, bytes])).toBe(true);
      expect(same('', `/Filter ${filter}`, [bytes, deflateSync(Buffer.from('q q'))])).toBe(false);
      expect(same(`/Filter ${filter} /A 1`, '/A 2', [compressed, bytes])).toBe(false);
    }
    expect(same('', '/DecodeParms 22 0 R')).toBe(true);
    expect(same('', '/Filter /FlateDecode')).toBe(false);
  });

  it('are other streams with a length that has a point, or beside what is none', () => {
    const file = opened(madePdf(usualObjects()));
    const stream = (entries: string): PdfStream => new PdfStream(dictionary(entries), bytes);
    const compared = (one: PdfObject, other: PdfObject): boolean => sameIndirect(file, one, file, other);
    expect(compared(stream('/Length 3'), stream('/Length 3'))).toBe(true);
    expect(compared(stream('/Length 3'), stream('/Length 3.0'))).toBe(false);
    expect(compared(stream(''), new PdfDictionary())).toBe(false);
    expect(compared(new PdfDictionary(), stream(''))).toBe(false);
  });

  it('are not the same by their bytes where one of the files is encrypted', () => {
    const plain = opened(madePdf(usualObjects()));
    const encrypted = opened(encryptedPdf(madePdf(usualObjects()), { revision: 6, user: '', owner: 'owner' }));
    const compared = (before: PdfFile, after: PdfFile): boolean => {
      const [one, other] = [before, after].map(() => new PdfStream(dictionary('/Filter /DCTDecode'), bytes));
      return sameIndirect(before, one ?? null, after, other ?? null);
    };
    expect([compared(plain, plain), compared(plain, encrypted), compared(encrypted, plain), compared(encrypted, encrypted)]).toEqual([
      ...[true, false, false, false],
    ]);
  });

  it('are never the same if they are numbers', () => {
    const file = opened(madePdf(usualObjects()));
    expect([sameIndirect(file, 1, file, 1), sameIndirect(file, [1], file, [1])]).toEqual([false, true]);
  });
});

describe('the references in an object', () => {
  const object = new PdfStream(dictionary('/A 1 0 R /B [2 0 R << /C [3 0 R] /D 4 >>] /E (5 0 R) /F null'), Buffer.of());

  it('are found with the keys that lead to them', () => {
    expect(Array.from(referencesIn(object), ({ path, target }) => `${path} ${target.number}`)).toEqual(['A 1', 'B/* 2', 'B/*/C/* 3']);
    expect(Array.from(referencesIn(object, 'X/*'), ({ path }) => path)).toEqual(['X/*/A', 'X/*/B/*', 'X/*/B/*/C/*']);
    expect(Array.from(referencesIn(new PdfReference(7, 0), 'X'), ({ path }) => path)).toEqual(['X']);
  });

  it('are looked for by their numbers', () => {
    const found = [1, 2, 3, 4, 5].filter((number) => refersTo(object, new Set([number, 99])));
    expect(found).toEqual([1, 2, 3]);
    expect([refersTo(new PdfReference(7, 0), new Set([7])), refersTo(null, new Set([7]))]).toEqual([true, false]);
  });
});
