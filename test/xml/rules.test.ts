import { describe, expect, it } from 'vitest';
import { canonicalise } from '../../src/xml/canonical-stream.ts';
import { canonicalisationOfUri, canonicalisations, canonicalisationUris, keepsComments, rulesOf } from '../../src/xml/canonicalisation.ts';
import { checkUtf8 } from '../../src/xml/check-utf8.ts';
import { decodeXml } from '../../src/xml/encoding.ts';
import { elementsBefore } from '../../src/xml/scanner.ts';
import { joinUriReferences } from '../../src/xml/xml-base.ts';
import { XmlDocument } from '../../src/xml/xml-document.ts';
import { byteOrderMarkLength, quoted, xmlFaultAt } from '../../src/xml/xml-fault.ts';
import { characters, element, endTag, isNcName, isXmlText, startTag } from '../../src/xml/xml-text.ts';
import { canonicalForm } from './canonical-form.ts';

const whole = (xml: string): string => canonicalForm(xml, { apex: undefined, algorithm: 'C14N' });

describe('a document', () => {
  it.each([
    ['<a></a >', '<a></a>'],
    ['<a\n></a\t\r\n >', '<a></a>'],
    ['<a b = "1"/>', '<a b="1"></a>'],
    ["<a b='&quot;&apos;'/>", '<a b="&quot;\'"></a>'],
    ['<a>]]</a>', '<a>]]</a>'],
    ['<a>]&gt;]] ></a>', '<a>]&gt;]] &gt;</a>'],
    ['<a><![CDATA[]]]]><![CDATA[>]]></a>', '<a>]]&gt;</a>'],
    ['<a>&#x10FFFF;&#xFFFD;&#xE000;&#xD7FF;&#9;&#32;</a>', '<a>\u{10ffff}\ufffd\ue000\ud7ff\t </a>'],
    ['<a><?p?><?q  r?></a>', '<a><?p?><?q r?></a>'],
    ['<a><!----><!-- - --></a>', '<a></a>'],
    ['<_a-.1/>', '<_a-.1></_a-.1>'],
    ["<?xml version='1.0' encoding='UTF-8' standalone='no' ?><a/>", '<a></a>'],
    ['<?xml version="1.0" standalone="yes"?><a/>', '<a></a>'],
    ['<?xml-stylesheet a?><a/>', '<?xml-stylesheet a?>\n<a></a>'],
    ['<a xmlns:p="u:p"><b xmlns:p="u:q"><p:c/></b><p:d/></a>', '<a xmlns:p="u:p"><b xmlns:p="u:q"><p:c></p:c></b><p:d></p:d></a>'],
  ])('is well formed: %j', (xml, form) => {
    expect(whole(xml)).toBe(form);
  });

  it.each([
    ['<a><!-- ---></a>', '--'],
    ['<a><?p:q ?></a>', 'no target'],
    ['<a><?1?></a>', 'no target'],
    ['<a><?XmL a?></a>', 'target xml'],
    ['<a><?p \u0001?></a>', 'not allowed'],
    ['<a><!-- \u0001 --></a>', 'not allowed'],
    ['<a><![CDATA[\u0001]]></a>', 'not allowed'],
    ['<a>&#11;</a>', 'no character'],
    ['<a>&#xFFFE;</a>', 'no character'],
    ['<a>&#xDFFF;</a>', 'no character'],
    ['<a>&#x;</a>', 'empty'],
    ['<a>&#1a;</a>', 'malformed'],
    ['<a>&#-1;</a>', 'malformed'],
    ['<a>&LT;</a>', 'not declared'],
    ['<a>&lt</a>', 'malformed'],
    ['<a>& </a>', 'malformed'],
    ['<a><![cdata[]]></a>', 'declaration'],
    ['<a><!ELEMENT b></a>', 'declaration'],
    ['<:a/>', 'name'],
    ['<a:/>', 'name'],
    ['<a:1 xmlns:a="u:a"/>', 'name'],
    ['<a b:="1"/>', 'name'],
    ['<a -b="1"/>', 'name'],
    ['<a/ >', 'malformed'],
    ['<a ="1"/>', 'malformed'],
    ['<a b "1"/>', 'no value'],
    ['<a b="1>', 'too early'],
    ['<a xmlns:p="http://www.w3.org/XML/1998/namespace"/>', 'reserved'],
    ['<a xmlns="http://www.w3.org/XML/1998/namespace"/>', 'reserved'],
    ['<a xmlns:xmlns="u:x"/>', 'reserved'],
    ['<a xmlns:p="http://www.w3.org/2000/xmlns/"/>', 'reserved'],
    ['<a xmlns="u:a" xmlns="u:b"/>', 'twice'],
    ['<a xmlns:p="u:p"><b xmlns:p="u:q"/><p:b q:c="1"/></a>', 'prefix is not declared'],
    ['<a><b xmlns:p="u:p"/><p:c/></a>', 'prefix is not declared'],
    ['<?xml version="1.0" standalone="maybe"?><a/>', 'XML declaration'],
    ['<?xml version="2.0"?><a/>', 'XML declaration'],
    ['<?xml version="1.0" encoding="UTF-8\'?><a/>', 'XML declaration'],
    ['<?xml version="1.0"encoding="UTF-8"?><a/>', 'XML declaration'],
    ['x<a/>', 'outside'],
  ])('is not well formed: %j', (xml, message) => {
    expect(() => whole(xml)).toThrow(message);
  });

  it('with two attributes of one name is refused however many there are', () => {
    for (const count of [2, 15, 16, 17, 40]) {
      const attributes = (last: string): string =>
        Array.from({ length: count }, (_, index) => ` a${count - index}="${index}"`).join('') + last;
      expect(whole(`<e${attributes('')}/>`)).toMatch(/^<e a1="/);
      expect(() => whole(`<e${attributes(' a1=""')}/>`)).toThrow('twice');
    }
  });

  it('has the same form wherever it is cut', () => {
    const bytes = Buffer.from('<?xml version="1.0"?><!-- c --><a x=\'&amp;\' y="1" ><b\n/>]]&gt;<![CDATA[<é>]]>\r\n&#xe9;<?p q?></a >\n');
    const formOf = (...pieces: readonly Uint8Array[]): string => {
      const written: Buffer[] = [];
      canonicalise(pieces, [{ apex: undefined, algorithm: 'C14N_WITH_COMMENTS', write: (part) => written.push(Buffer.from(part)) }]);
      return Buffer.concat(written).toString();
    };
    const form = formOf(bytes);
    expect(form).toBe('<!-- c -->\n<a x="&amp;" y="1"><b></b>]]&gt;&lt;é&gt;\né<?p q?></a>');
    for (let cut = 0; cut <= bytes.length; cut += 1) expect(formOf(bytes.subarray(0, cut), bytes.subarray(cut))).toBe(form);
    expect(formOf(...Array.from(bytes, (byte) => Uint8Array.of(byte)))).toBe(form);
  });

  it('inherits bases of 8 KiB together, and not more', () => {
    const bases = (outer: number, inner: number): string =>
      canonicalForm(`<r xml:base="${'a'.repeat(outer - 1)}/"><s xml:base="${'b'.repeat(inner)}"/></r>`, { apex: 1, algorithm: 'C14N_11' });
    expect(bases(8_000, 192)).toHaveLength('<s xml:base=""></s>'.length + 8_192);
    expect(() => bases(8_000, 193)).toThrow('too long to be combined');
  });
});

describe('two bases', () => {
  it.each([
    ['http://a/b?x', '', 'http://a/b?x'],
    ['http://a/b?x', '?', 'http://a/b?'],
    ['http://a/b?x', '#f', 'http://a/b?x'],
    ['http://a/b?x', 'c', 'http://a/c'],
    ['http://a/b/', '/../c', 'http://a/c'],
    ['http://a/b', 'urn:x/../y', 'urn:y'],
    ['http://a', '', 'http://a'],
    ['a/b', '/c', '/c'],
    ['', 'c', 'c'],
    ['a', '../..', '../../'],
    ['//h', 'c', '//h/c'],
    ['s:a/b', 'c?q', 's:a/c?q'],
    ['a/..', 'c', 'c'],
    ['a\nb/', 'c', 'a\nb/c'],
  ])('%j and %j are %j', (base, reference, joined) => {
    expect(joinUriReferences(base, reference)).toBe(joined);
  });
});

describe('a canonicalisation', () => {
  it('is found by its identifier, and follows the rules that this names', () => {
    expect(canonicalisations.map((name) => canonicalisationOfUri(canonicalisationUris[name]))).toEqual([...canonicalisations]);
    expect(canonicalisationOfUri('http://www.w3.org/2006/12/xml-c14n11#')).toBeUndefined();
    expect(canonicalisations.map(rulesOf)).toEqual(['1.0', '1.0', '1.1', '1.1', 'exclusive', 'exclusive']);
    expect(canonicalisations.map(keepsComments)).toEqual([false, true, false, true, false, true]);
  });
});

describe('the place of a fault', () => {
  const placeOf = (offset: number, ...pieces: (string | Uint8Array)[]): unknown => {
    const { line, column, message } = xmlFaultAt(
      pieces.map((piece) => Buffer.from(piece)),
      offset,
      'fault',
    );
    expect(message).toBe(`fault (line ${line}, column ${column})`);
    return [line, column];
  };

  it('counts lines as XML has them, and characters', () => {
    expect(placeOf(0, 'ab')).toEqual([1, 1]);
    expect(placeOf(2, 'ab')).toEqual([1, 3]);
    expect(placeOf(3, 'a\nb')).toEqual([2, 2]);
    expect(placeOf(3, 'a\rb')).toEqual([2, 2]);
    expect(placeOf(4, 'a\r\nb')).toEqual([2, 2]);
    expect(placeOf(4, 'a\n\rb')).toEqual([3, 2]);
    expect(placeOf(3, 'a\r', '\nb')).toEqual([2, 1]);
    expect(placeOf(4, 'a\r', '\nb')).toEqual([2, 2]);
    expect(placeOf(7, 'é😀x')).toEqual([1, 4]);
    expect(placeOf(5, 'ab', 'cd', 'ef')).toEqual([1, 6]);
  });

  it('does not count a byte order mark, however it is cut', () => {
    const mark = Buffer.of(0xef, 0xbb, 0xbf);
    for (const cut of [0, 1, 2, 3]) {
      const pieces = [mark.subarray(0, cut), Buffer.concat([mark.subarray(cut), Buffer.from('ab')])];
      expect([byteOrderMarkLength(pieces), placeOf(4, ...pieces)]).toEqual([3, [1, 2]]);
    }
    expect([byteOrderMarkLength([mark.subarray(0, 2)]), byteOrderMarkLength([Buffer.of(0xef, 0xbb, 0xbe)])]).toEqual([0, 0]);
  });

  it('shows texts of the document up to 100 characters', () => {
    expect(quoted('x'.repeat(100))).toBe(`"${'x'.repeat(100)}"`);
    expect(quoted('x'.repeat(101))).toBe(`"${'x'.repeat(100)}…"`);
    expect(quoted('"\n')).toBe(String.raw`"\"\n"`);
  });
});

it('elements are counted up to an offset', () => {
  const xml = '<a><!-- <x> --><b c=">"/><![CDATA[<x>]]></a>';
  const at = (text: string): number => elementsBefore(Buffer.from(xml), xml.indexOf(text));
  expect([at('<a>'), at('<!--'), at('<b'), at('<![CDATA['), elementsBefore(Buffer.from(xml), xml.length)]).toEqual([0, 1, 1, 2, 2]);
});

describe('UTF-8', () => {
  const text = Buffer.from('aé€😀\u{10ffff}\u0080\u0800\u{10000}\u07ff\uffffz');

  it('is recognised wherever it is cut', () => {
    for (let one = 0; one <= text.length; one += 1)
      for (let two = one; two <= text.length; two += 1)
        expect(() => {
          checkUtf8([text.subarray(0, one), text.subarray(one, two), text.subarray(two)]);
        }).not.toThrow();
  });

  it.each([
    [[0x80]],
    [[0xbf]],
    [[0xc0, 0x80]],
    [[0xc3]],
    [[0xc3, 0x28]],
    [[0xe2, 0x82]],
    [[0xe2, 0x28, 0xa1]],
    [[0xed, 0xa0, 0x80]],
    [[0xf0, 0x80, 0x80, 0x80]],
    [[0xf0, 0x9f, 0x98]],
    [[0xf4, 0x90, 0x80, 0x80]],
    [[0xf8, 0x88, 0x80, 0x80, 0x80]],
  ])('is not %j, wherever that is cut', (bytes) => {
    const wrong = Buffer.concat([Buffer.from('é'), Buffer.from(bytes)]);
    for (let cut = 0; cut <= wrong.length; cut += 1)
      expect(() => {
        checkUtf8([wrong.subarray(0, cut), wrong.subarray(cut)]);
      }).toThrow('not in UTF-8');
  });
});

describe('the encoding of a document', () => {
  const declared = (name: string, rest = '', encoding: BufferEncoding = 'latin1'): Buffer =>
    Buffer.from(`<?xml version="1.0" encoding="${name}"?><a>${rest}</a>`, encoding);

  it.each([
    ['utf-8', 'UTF-8'],
    ['UTF8', 'UTF-8'],
    ['us-ascii', 'UTF-8'],
    ['ASCII', 'UTF-8'],
    ['ISO-8859-1', 'ISO-8859-1'],
    ['iso_8859-1', 'ISO-8859-1'],
    ['latin1', 'ISO-8859-1'],
    ['ISO-8859-15', 'ISO-8859-15'],
    ['Latin-9', 'ISO-8859-15'],
    ['Windows-1252', 'windows-1252'],
    ['cp1252', 'windows-1252'],
  ])('%s is %s', (name, encoding) => {
    expect(decodeXml(declared(name)).encoding).toBe(encoding);
  });

  it('of UTF-16 may be declared as what it is, with or without its order', () => {
    for (const [encoding, swap] of [
      ['UTF-16LE', false],
      ['UTF-16BE', true],
    ] as const) {
      const bytes = (name: string): Buffer => {
        const little = declared(name, '', 'utf16le');
        return swap ? little.swap16() : little;
      };
      for (const name of ['UTF-16', 'utf-16', encoding]) expect(decodeXml(bytes(name))).toMatchObject({ encoding, markBytes: 0 });
      for (const name of ['UTF-8', swap ? 'UTF-16LE' : 'UTF-16BE']) expect(() => decodeXml(bytes(name))).toThrow(`says ${name}`);
    }
  });

  it.each(['UTF-16', 'UTF-16LE', 'utf-16be'])('is not %s where its first bytes are others', (name) => {
    expect(() => decodeXml(declared(name))).toThrow('one byte for an ASCII character');
  });

  it('is declared in the first 1,024 bytes, or the document is refused', () => {
    const padded = (spaces: number): Buffer => Buffer.from(`<?xml version="1.0"${' '.repeat(spaces)}encoding="ISO-8859-1"?><a/>`);
    const room = 1024 - '<?xml version="1.0"encoding="ISO-8859-1"?>'.length;
    expect(decodeXml(padded(room)).encoding).toBe('ISO-8859-1');
    expect(() => decodeXml(padded(room + 1))).toThrow('more than 1024 characters');
    expect(decodeXml(Buffer.from(`<a>${'x'.repeat(2000)}</a>`)).encoding).toBe('UTF-8');
  });

  it('writes what is inserted, and refuses a character that it does not have', () => {
    for (const [name, bytes] of [
      ['ISO-8859-1', [0xe9]],
      ['ISO-8859-15', [0xe9]],
      ['windows-1252', [0xe9]],
      ['UTF-8', [0xc3, 0xa9]],
    ] as const)
      expect([...decodeXml(declared(name)).encode('é')]).toEqual([...bytes]);
    expect([...decodeXml(declared('ISO-8859-15')).encode('€')]).toEqual([0xa4]);
    expect([...decodeXml(declared('windows-1252')).encode('€')]).toEqual([0x80]);
    for (const name of ['ISO-8859-1', 'ISO-8859-15', 'windows-1252'])
      expect(() => decodeXml(declared(name)).encode('a☃')).toThrow(`the encoding ${name} of the document has no character "☃"`);
    expect(Buffer.from(decodeXml(Buffer.from('\ufeff<a/>', 'utf16le')).encode('é😀'))).toEqual(Buffer.from('é😀', 'utf16le'));
    expect(Buffer.from(decodeXml(Buffer.from('\ufeff<a/>', 'utf16le').swap16()).encode('é'))).toEqual(Buffer.from('é', 'utf16le').swap16());
  });

  it('leads back to the bytes of the document', () => {
    const start = '<?xml version="1.0" encoding="windows-1252"?><a>';
    const decoded = decodeXml(declared('windows-1252', '\x80\xe9x'));
    const { length } = decoded.utf8;
    expect([0, start.length + 3, start.length + 5, length].map((offset) => decoded.offsetOf(offset))).toEqual([
      ...[0, start.length + 1, start.length + 2, start.length + 7],
    ]);
    expect(decodeXml(Buffer.from('\ufeff<a/>')).offsetOf(2)).toBe(5);
  });
});

describe('text in XML', () => {
  it('has references for what would not come back', () => {
    expect(characters('a&<>"\'\r\n\té\u007f😀')).toBe('a&#x26;&#x3C;&#x3E;"\'&#xD;\n\t&#xE9;&#x7F;&#x1F600;');
    expect(startTag('a', { b: '&<>"\'\r\n\té', c: undefined, 'd:e': '' })).toBe(
      '<a b="&#x26;&#x3C;>&#x22;\'&#xD;&#xA;&#x9;&#xE9;" d:e="">',
    );
    expect(element('a', {}, 'x', endTag('y'))).toBe('<a>x</y></a>');
  });

  it('has the characters of XML', () => {
    for (const text of ['', '\t\n\r ', '\ud7ff\ue000\ufffd', '\u{10000}\u{10ffff}', '\u007f\u0085']) expect(isXmlText(text)).toBe(true);
    for (const text of ['\0', '\u0008', '\u000b', '\u001f', '\ufffe', '\uffff', '\ud800', 'a\udfff']) expect(isXmlText(text)).toBe(false);
  });

  it('has names without a colon', () => {
    for (const name of ['_', 'a1', 'a-.b', 'é', '\u{10000}', 'a\u00b7', 'a\u203f']) expect(isNcName(name)).toBe(true);
    for (const name of ['', '-', '.a', '1', 'a:b', 'a b', '\u00d7', '\u00b7', 'a\u00d7', 'a\n', '\u{f0000}'])
      expect(isNcName(name)).toBe(false);
  });
});

describe('a parsed document', () => {
  it('has the prefixes that are in scope, the nearest declaration of each', () => {
    using document = XmlDocument.parse(
      Buffer.from('<a xmlns="u:d" xmlns:p="u:p" xmlns:q="u:q">\n<b xmlns:p="u:p2">\n<c xmlns="" xmlns:r="u:r"/></b></a>'),
    );
    const [a, b, c] = [...document.elements()];
    if (a === undefined || b === undefined || c === undefined) throw new Error('three elements');
    expect(document.prefixesAt(c)).toEqual({ p: 'u:p2', q: 'u:q', r: 'u:r' });
    expect(document.prefixesAt(a)).toEqual({ p: 'u:p', q: 'u:q' });
    expect([...document.declaredNamespaces(c)]).toEqual([
      ['', ''],
      ['r', 'u:r'],
    ]);
    expect([document.line(a), document.line(b), document.line(c)]).toEqual([1, 2, 3]);
    expect([document.parent(a), document.parent(c)]).toEqual([undefined, b]);
    expect([document.isWithin(a, a), document.isWithin(c, a), document.isWithin(b, c)]).toEqual([true, true, false]);
    expect([document.child(a, 'u:d', 'b'), document.child(a, 'u:p', 'b'), document.child(a, 'u:d', 'c')]).toEqual([
      b,
      undefined,
      undefined,
    ]);
    expect([...document.elements(b)]).toEqual([b, c]);
    expect([document.namespace(c), document.namespace(b)]).toEqual([undefined, 'u:d']);
  });

  it('mentions a text so many times, or not', () => {
    using document = XmlDocument.parse(Buffer.from('<a xmlns:longprefix="u:x">longprefix longpref</a>'));
    expect([document.mentions('longprefix'), document.mentions('longprefix', 2), document.mentions('longprefix', 3)]).toEqual([
      ...[true, true, false],
    ]);
    expect([document.mentions('longprefiy'), document.mentions('zzz'), document.mentions('aa')]).toEqual([false, false, false]);
  });

  it('has the canonical form of a subtree without some of it, and names the namespace that prevents it', () => {
    using document = XmlDocument.parse(Buffer.from('<a xmlns:p="u:p"><b><c/><d/></b><e/></a>'));
    const [, b, c, , e] = [...document.elements()];
    if (b === undefined || c === undefined || e === undefined) throw new Error('five elements');
    expect(document.canonical({ algorithm: 'C14N', apex: b, without: [c, e] }).toString()).toBe('<b xmlns:p="u:p"><d></d></b>');
    expect(document.canonical({ algorithm: 'EXC_C14N', apex: b, inclusivePrefixes: ['p'] }).toString()).toBe(
      '<b xmlns:p="u:p"><c></c><d></d></b>',
    );
    using relative = XmlDocument.parse(Buffer.from('<a><b xmlns:q="u:q" xmlns:p="rel/ative"/></a>'));
    expect(() => relative.canonical({ algorithm: 'C14N' })).toThrow('the namespace "rel/ative" is not an absolute URI');
  });
});
