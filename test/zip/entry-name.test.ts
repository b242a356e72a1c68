import { describe, expect, it } from 'vitest';
import { clashingName, entryNameFault, portabilityFault } from '../../src/zip/entry-name.ts';
import { zipFault } from '../../src/zip/limits.ts';

describe('the name of an entry', () => {
  it.each(['a', 'data/a.txt', 'META-INF/manifest.xml', 'données/été 2026.txt', '..a', 'a..', '...', 'a.', '.hidden'])(
    'may be %j',
    (name) => {
      expect(entryNameFault(name)).toBeUndefined();
    },
  );

  it.each([
    ['a/b.txt', undefined],
    ['console.txt', undefined],
    ['com10/aux-1', undefined],
    ['no:1', 'contains the character :'],
    ['what?.txt', 'contains the character ?'],
    ['a/<b>', 'contains the character <'],
    ['a|b*', 'contains the character |'],
    ['a.', 'contains a segment that ends with a dot or a space'],
    ['a /b', 'contains a segment that ends with a dot or a space'],
    ['...', 'contains a segment that ends with a dot or a space'],
    ['nul', 'contains "nul", which is a device on Windows'],
    ['data/Aux.tar.gz', 'contains "Aux.tar.gz", which is a device on Windows'],
    ['COM1/x', 'contains "COM1", which is a device on Windows'],
    ['lpt² .txt', 'contains "lpt² .txt", which is a device on Windows'],
  ])('%j on Windows: %j', (name, fault) => {
    expect(portabilityFault(name)).toBe(fault);
  });

  it.each([
    ['ΑΣ.txt', 'ας.txt'],
    ['ΑΣ', 'ασ'],
    ['\u00b5', '\u03bc'],
    ['\u017f', 's'],
    ['straße', 'STRASSE'],
    ['e\u0301', 'É'],
  ])('%j and %j count as the same', (one, other) => {
    expect(clashingName([one, other])).toBe(1);
  });

  it('may have as many bytes as its field can count, in UTF-8', () => {
    const tooLong = 'has more than 65535 bytes in UTF-8';
    expect(['x'.repeat(65_535), 'x'.repeat(65_536), 'é'.repeat(32_767), 'é'.repeat(32_768)].map(entryNameFault)).toEqual([
      undefined,
      tooLong,
      undefined,
      tooLong,
    ]);
  });

  it.each([
    ['', 'is empty'],
    ['invoice\u202efdp.exe', 'contains a control character of bidirectional text'],
    ['\u2066a', 'contains a control character of bidirectional text'],
    ['a\u200f.txt', 'contains a control character of bidirectional text'],
    ['a\ufffe.txt', 'contains a code point that is not a character'],
    ['/etc/passwd', 'is absolute'],
    ['//server/share', 'is absolute'],
    ['C:/x', 'begins with the letter of a drive'],
    ['c:x', 'begins with the letter of a drive'],
    ['C:\\x', 'contains a backslash'],
    ['a\\..\\b', 'contains a backslash'],
    ['..', 'contains "." or ".." as a segment'],
    ['../x', 'contains "." or ".." as a segment'],
    ['a/../../x', 'contains "." or ".." as a segment'],
    ['a/..', 'contains "." or ".." as a segment'],
    ['./a', 'contains "." or ".." as a segment'],
    ['a//b', 'contains an empty segment'],
    ['folder/', 'contains an empty segment'],
    ['a\0.txt', 'contains a control character'],
    ['a\nb', 'contains a control character'],
    ['a\u007f', 'contains a control character'],
    ['a\u0085b', 'contains a control character'],
    ['a\ud800', 'is not well-formed Unicode'],
  ])('%j is refused: it %s', (name, fault) => {
    expect(entryNameFault(name)).toBe(fault);
  });
});

describe('names beside each other', () => {
  it.each([
    ['the same', ['a', 'b', 'a'], 2],
    ['in another case', ['Data/Été.txt', 'data/ÉTÉ.TXT'], 1],
    ['in another normalisation', ['\u00e9', 'e\u0301'], 1],
    ['a file where a folder was', ['a/b/c', 'a/b'], 1],
    ['a folder where a file was', ['a/B', 'x', 'A/b/c'], 2],
  ])('clash: %s', (_how, names, index) => {
    expect(clashingName(names)).toBe(index);
  });

  it('may be as deep as their length allows', () => {
    const deep = 'a/'.repeat(32_000);
    expect(clashingName([`${deep}a`, `${deep}b`, `${deep}c/d`, `${deep}B`])).toBe(3);
  });

  it('do not clash if they are only alike', () => {
    expect(clashingName(['a', 'ab', 'b/a', 'b/ab', 'b.c', 'c/b.c'])).toBeUndefined();
  });
});

describe('entries of a container', () => {
  const gibibyte = 2 ** 30;

  it('are refused for a name, by its index', () => {
    const entries = [
      { name: 'a', bytes: 1 },
      { name: '../b', bytes: 1 },
    ];
    expect(zipFault(entries)).toEqual({
      kind: 'NAME',
      entry: 1,
      text: 'the name of a ZIP entry contains "." or ".." as a segment',
    });
    expect(
      zipFault([
        { name: 'a', bytes: 1 },
        { name: 'A', bytes: 1 },
      ]),
    ).toMatchObject({ kind: 'NAME', entry: 1 });
  });

  it('are refused from the byte on that would need ZIP64', () => {
    const entries = (last: number) => [
      { name: 'a', bytes: 2 * gibibyte },
      { name: 'b', bytes: last },
    ];
    // Two entries with names of one byte have 31 + 47 bytes each, and the end has 22.
    const most = 0xffff_fffe - 2 * gibibyte - 2 * 78 - 22;
    expect(zipFault(entries(most))).toBeUndefined();
    expect(zipFault(entries(most + 1))).toEqual({
      kind: 'SIZE',
      text: 'a ZIP container holds at most 4294967294 bytes before compression',
    });
  });

  it('are refused if they are more than the end of the directory can count', () => {
    const entries = Array.from({ length: 65_535 }, (_, index) => ({ name: String(index), bytes: 0 }));
    expect(zipFault(entries.slice(1))).toBeUndefined();
    expect(zipFault(entries)).toEqual({ kind: 'SIZE', text: 'a ZIP container holds at most 65534 entries' });
  });
});
