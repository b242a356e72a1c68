import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeXml } from '../../src/xml/encoding.ts';
import { insertionAt, inContext } from '../../src/xml/insertion.ts';
import { characters, element, isNcName, isXmlText } from '../../src/xml/xml-text.ts';
import { XmlDocument } from '../../src/xml/xml-document.ts';

describe('decodeXml', () => {
  it.each<[string, Buffer, string]>([
    ['UTF-8', Buffer.from('<a>é</a>'), '<a>é</a>'],
    ['UTF-8', Buffer.from('\ufeff<a>é</a>'), '<a>é</a>'],
    ['UTF-16LE', Buffer.from('\ufeff<a>é𝄞</a>', 'utf16le'), '<a>é𝄞</a>'],
    ['UTF-16BE', Buffer.from('\ufeff<a>é𝄞</a>', 'utf16le').swap16(), '<a>é𝄞</a>'],
    ['UTF-16LE', Buffer.from('<?xml version="1.0"?><a/>', 'utf16le'), '<?xml version="1.0"?><a/>'],
    ['ISO-8859-1', Buffer.from("<?xml version='1.0' encoding='iso-8859-1'?><a>\xe9\x80</a>", 'latin1'), 'é\u0080</a>'],
    ['ISO-8859-15', Buffer.from('<?xml version="1.0" encoding="ISO-8859-15"?><a>\xa4</a>', 'latin1'), '€</a>'],
    ['windows-1252', Buffer.from('<?xml version="1.0" encoding="windows-1252"?><a>\x80</a>', 'latin1'), '€</a>'],
  ])('reads %s', (encoding, bytes, end) => {
    const decoded = decodeXml(bytes);
    expect(decoded.encoding).toBe(encoding);
    expect(Buffer.from(decoded.utf8).toString().endsWith(end)).toBe(true);
  });

  it.each<[Buffer, string]>([
    [Buffer.from('<?xml version="1.0" encoding="EUC-JP"?><a/>'), 'EUC-JP is not supported'],
    [Buffer.from('<?xml version="1.0" encoding="UTF-16"?><a/>'), 'the XML declaration says UTF-16'],
    [Buffer.from('\ufeff<?xml version="1.0" encoding="ISO-8859-1"?><a/>'), 'but the XML declaration says'],
    [Buffer.concat([Buffer.of(0xff, 0xfe), Buffer.from('<a/>!')]), 'not valid UTF-16LE'],
    [Buffer.from(`<?xml version="1.0"${' '.repeat(1100)}encoding="ISO-8859-1"?><a/>`), 'more than 1024 characters'],
    [Buffer.from('<?xml version="1.0" encoding="US-ASCII"?><a>é</a>'), 'beyond ASCII'],
    [Buffer.from('\ufeff<?xml version="1.0" encoding="UTF-16BE"?><a/>', 'utf16le'), 'declaration says UTF-16BE'],
    [Buffer.from('<?xml version="1.0" encoding="windows-1252"?><a>\x81</a>', 'latin1'), 'not valid windows-1252'],
    [Buffer.from('\ufeff\ufeff<a/>'), 'a second byte order mark'],
    [Buffer.from('<?xml version="1.1"?><a>x\u0085y\u2028z</a>'), 'the version of XML "1.1" is not supported'],
    [Buffer.from(`<?xml  version = '1.1' encoding='ISO-8859-1'?><a/>`), 'the version of XML "1.1" is not supported'],
    [Buffer.from('\ufeff<?xml version="2.0"?><a/>', 'utf16le'), 'the version of XML "2.0" is not supported'],
    [Buffer.from('\ufeff\ufeff<a/>', 'utf16le'), 'a second byte order mark'],
  ])('refuses what it does not read: case %#', (bytes, message) => {
    expect(() => decodeXml(bytes)).toThrow(message);
  });

  it('finds the way back to the bytes, at every character', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 40 }).filter((one) => one.isWellFormed());
    fc.assert(
      fc.property(text, fc.constantFrom('utf16le' as const, 'utf8' as const), (written, encoding) => {
        const bytes = Buffer.from(`\ufeff<a>${written}`, encoding);
        const decoded = decodeXml(bytes);
        let offset = 0;
        for (const character of `<a>${written}`) {
          const start = decoded.offsetOf(offset);
          expect(bytes.subarray(start, start + Buffer.byteLength(character, encoding)).toString(encoding)).toBe(character);
          offset += Buffer.byteLength(character);
        }
      }),
      { numRuns: 200 },
    );
  });
});

describe('insertionAt', () => {
  const xml = Buffer.from('<r a=">"><!-- <x> --><e  b=\'/>\' /><f><g>1</g></f></r>');
  const inserted = (index: number, place: Parameters<typeof insertionAt>[2]): string => {
    const { offset, replacedBytes, before, after } = insertionAt(xml, index, place);
    return `${xml.toString('utf8', 0, offset)}${before}*${after}${xml.toString('utf8', offset + replacedBytes)}`;
  };

  it('finds the places at elements', () => {
    expect(inserted(0, 'FIRST_CHILD')).toBe('<r a=">">*<!-- <x> --><e  b=\'/>\' /><f><g>1</g></f></r>');
    expect(inserted(0, 'LAST_CHILD')).toBe('<r a=">"><!-- <x> --><e  b=\'/>\' /><f><g>1</g></f>*</r>');
    expect(inserted(1, 'LAST_CHILD')).toBe('<r a=">"><!-- <x> --><e  b=\'/>\' >*</e><f><g>1</g></f></r>');
    expect(inserted(1, 'NEXT_SIBLING')).toBe('<r a=">"><!-- <x> --><e  b=\'/>\' />*<f><g>1</g></f></r>');
    expect(inserted(3, 'LAST_CHILD')).toBe('<r a=">"><!-- <x> --><e  b=\'/>\' /><f><g>1*</g></f></r>');
  });

  it('keeps what is around them', () => {
    const { around } = insertionAt(xml, 3, 'FIRST_CHILD');
    expect(inContext(around, '*')).toBe('<r a=">"><f><g>*</g></f></r>');
    expect(insertionAt(xml, 1, 'LAST_CHILD').around).toEqual(['<r a=">">', "<e  b='/>' >"]);
  });
});

describe('XML as text', () => {
  it('is read back as it was, and is ASCII', () => {
    const text = fc.string({ unit: 'binary', maxLength: 30 }).filter((one) => one.isWellFormed() && isXmlText(one));
    fc.assert(
      fc.property(text, text, (content, value) => {
        const written = element('a', { b: value }, characters(content));
        expect(written).toMatch(/^[\x20-\x7e\n\t]*$/);
        using document = XmlDocument.parse(Buffer.from(written));
        expect([document.text(document.root), document.attribute(document.root, 'b')]).toEqual([content, value]);
      }),
      { numRuns: 500 },
    );
  });

  it('tells names', () => {
    expect(['a', 'É.1-_', 'x\u0301'].every(isNcName)).toBe(true);
    expect(['', '1a', 'a:b', '-a', 'a b', '\u0301x', 'a"'].some(isNcName)).toBe(false);
  });
});
