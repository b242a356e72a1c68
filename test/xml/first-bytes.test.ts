import { describe, expect, it } from 'vitest';
import { decodeXml } from '../../src/xml/encoding.ts';
import { XmlFault } from '../../src/xml/xml-fault.ts';

const latin = (text: string): Buffer => Buffer.from(text, 'latin1');
const faultOf = (bytes: Uint8Array): unknown => {
  try {
    return decodeXml(bytes).encoding;
  } catch (error) {
    if (!(error instanceof XmlFault)) throw error;
    return error.message;
  }
};

describe('the first bytes of a document', () => {
  it.each<[string, number[], string, number]>([
    ['a mark', [0xff, 0xfe], 'UTF-16LE', 2],
    ['a mark', [0xfe, 0xff], 'UTF-16BE', 2],
    ['a declaration', [0x3c, 0, 0x3f, 0], 'UTF-16LE', 0],
    ['a declaration', [0, 0x3c, 0, 0x3f], 'UTF-16BE', 0],
    ['a mark', [0xef, 0xbb, 0xbf], 'UTF-8', 3],
  ])('tell its encoding by %s, all of them together: %j', (_what, first, encoding, markBytes) => {
    expect(decodeXml(Uint8Array.from(first))).toMatchObject({ encoding, markBytes });
    for (const [index] of first.entries())
      expect(decodeXml(Uint8Array.from(first.with(index, 0x41)))).toMatchObject({ encoding: 'UTF-8', markBytes: 0 });
    expect(decodeXml(Uint8Array.from(first.slice(0, -1)))).toMatchObject({ encoding: 'UTF-8', markBytes: 0 });
  });

  it('may be a mark and a declaration of the same', () => {
    expect(decodeXml(Buffer.from('\ufeff<?xml version="1.0" encoding="UTF-8"?><a/>'))).toMatchObject({ encoding: 'UTF-8', markBytes: 3 });
    expect(decodeXml(Buffer.from('\ufeff<?xml version="1.0" encoding="us-ascii"?><a/>'))).toMatchObject({
      encoding: 'UTF-8',
      markBytes: 3,
    });
  });

  it.each(['\xef\xbb\xbf', '\xef\xbb', '\xef', '\xbb\xbf', '\xef\xbb\xbe'])('are one mark at most: %j', (second) => {
    const bytes = Buffer.concat([Buffer.of(0xef, 0xbb, 0xbf), latin(second), latin('<a/>')]);
    if (second.length === 3 && second.endsWith('\xbf'))
      expect(() => decodeXml(bytes)).toThrow('a second byte order mark (line 1, column 1)');
    else expect(decodeXml(bytes).utf8).toEqual(bytes.subarray(3));
  });
});

describe('an XML declaration', () => {
  it.each([
    ['<?xml version="1.0" ', 'UTF-8'],
    ['<?xmlx version="1.0" encoding="latin1"?><a/>', 'UTF-8'],
    [' <?xml version="1.0" encoding="latin1"?><a/>', 'UTF-8'],
    ['<?xml version="1.0"?><a encoding="latin1"/>', 'UTF-8'],
    ['<?xml version="1.0"encoding="latin1"?><a/>', 'UTF-8'],
    ['<?xml version="1.0" encoding="latin1\'?><a/>', 'UTF-8'],
    ['<?xml version="1.0" encoding=""?><a/>', 'UTF-8'],
    ['<?xml version="1.0" encoding="1latin"?><a/>', 'UTF-8'],
    ['<?xml\tversion="1.0"\nencoding\r=\n"latin1"?><a/>', 'ISO-8859-1'],
    ['<?xml encoding="latin1"?><a/>', 'UTF-8'],
    ["<?xml version='1.0' encoding='latin1'?><a/>", 'ISO-8859-1'],
    ['<?xml version="1.0" standalone="yes" encoding="latin1"?><a/>', 'ISO-8859-1'],
  ])('says the encoding where it has the form of one: %j', (text, encoding) => {
    expect(decodeXml(latin(text)).encoding).toBe(encoding);
  });

  it.each([
    [
      '<?xml version="1.0" encoding="EUC-JP"?>',
      'the encoding EUC-JP is not supported; supported: UTF-8, UTF-16, ISO-8859-1, ISO-8859-15 and windows-1252',
    ],
    ['<?xml version="1.1"?>', 'the version of XML "1.1" is not supported; supported: 1.0'],
    ['<?xml version=""?>', 'the version of XML "" is not supported; supported: 1.0'],
    [`<?xml version="1.0"${' '.repeat(1005)}`, 'the XML declaration has more than 1024 characters'],
    [
      '<?xml version="1.0" encoding="ascii"?><a>\x80</a>',
      'the bytes are those of an encoding beyond ASCII, but the XML declaration says ascii',
    ],
    [
      '<?xml version="1.0" encoding="utf-16"?>',
      'the first bytes are those of an encoding with one byte for an ASCII character, but the XML declaration says utf-16',
    ],
    ['\xef\xbb\xbf<?xml version="1.0" encoding="latin1"?>', 'the first bytes are those of UTF-8, but the XML declaration says latin1'],
  ])('is refused with its place, which is the start: %#', (text, message) => {
    expect(faultOf(latin(text))).toBe(`${message} (line 1, column 1)`);
  });

  it.each([
    [`<?xml version="1.0"${' '.repeat(1004)}`, 'UTF-8'],
    [`<?xml version="1.0"?>${' '.repeat(2000)}`, 'UTF-8'],
    [`<?xml-x version="1.0"${' '.repeat(2000)}`, 'UTF-8'],
    ['<?xml version="1.0" encoding="ASCII"?><a>\x7f</a>', 'UTF-8'],
  ])('is not refused: %#', (text, encoding) => {
    expect(faultOf(latin(text))).toBe(encoding);
  });

  it('has 1,024 characters in UTF-16 too', () => {
    const declared = (spaces: number): Buffer => Buffer.from(`\ufeff<?xml version="1.0"${' '.repeat(spaces)}`, 'utf16le');
    expect(faultOf(declared(1004))).toBe('UTF-16LE');
    expect(faultOf(declared(1005))).toBe('the XML declaration has more than 1024 characters (line 1, column 1)');
    const wrong = Buffer.from(`\ufeff<?xml version="1.0"${' '.repeat(985)}encoding="latin1"?>`, 'utf16le');
    expect(faultOf(wrong)).toBe('the first bytes are those of UTF-16LE, but the XML declaration says latin1 (line 1, column 1)');
  });
});

describe('bytes that an encoding does not have', () => {
  it('are refused in windows-1252, and are control characters in others', () => {
    const declared = (encoding: string, one: number): Buffer =>
      Buffer.concat([latin(`<?xml version="1.0" encoding="${encoding}"?><a>`), Buffer.of(one), latin('</a>')]);
    const refused = Array.from({ length: 256 }, (_, byte) => byte).filter(
      (byte) => faultOf(declared('windows-1252', byte)) !== 'windows-1252',
    );
    expect(refused).toEqual([0x81, 0x8d, 0x8f, 0x90, 0x9d]);
    for (const byte of refused) {
      expect(faultOf(declared('windows-1252', byte))).toBe('the document is not valid windows-1252');
      for (const encoding of ['ISO-8859-1', 'ISO-8859-15']) expect(faultOf(declared(encoding, byte))).toBe(encoding);
    }
  });

  it('are halves of characters and single bytes in UTF-16', () => {
    for (const hex of ['fffe00', 'fffe3c0000', 'fffe00d8', 'fffe00dc', 'fffe00d83c00'])
      expect(faultOf(Buffer.from(hex, 'hex'))).toBe('the document is not valid UTF-16LE');
    expect(faultOf(Buffer.from('feffd800', 'hex'))).toBe('the document is not valid UTF-16BE');
    expect(faultOf(Buffer.from('fffe00d800dc', 'hex'))).toBe('UTF-16LE');
  });
});
