import { describe, expect, it } from 'vitest';
import { canonicalise } from '../../src/xml/canonical-stream.ts';
import { canonicalisations } from '../../src/xml/canonicalisation.ts';
import type { CanonicalPart } from '../../src/xml/canonical-part.ts';
import { canonicalForm, canonicalForms } from './canonical-form.ts';

const whole = (xml: string): string => canonicalForm(xml, { apex: undefined, algorithm: 'C14N_WITH_COMMENTS' });

describe('one reference alone', () => {
  it.each([
    ['&amp;', '&amp;', '&amp;'],
    ['&lt;', '&lt;', '&lt;'],
    ['&gt;', '>', '&gt;'],
    ['&quot;', '&quot;', '"'],
    ['&apos;', "'", "'"],
    ['&#38;', '&amp;', '&amp;'],
    ['&#60;', '&lt;', '&lt;'],
    ['&#62;', '>', '&gt;'],
    ['&#34;', '&quot;', '"'],
    ['&#x26;', '&amp;', '&amp;'],
    ['&#x3c;', '&lt;', '&lt;'],
    ['&#x3E;', '>', '&gt;'],
    ['&#x22;', '&quot;', '"'],
    ['&#x9;', '&#x9;', '\t'],
    ['&#xA;', '&#xA;', '\n'],
    ['&#xD;', '&#xD;', '&#xD;'],
    ['&#xa;', '&#xA;', '\n'],
    ['&#xd;', '&#xD;', '&#xD;'],
    ['&#x0D;', '&#xD;', '&#xD;'],
    ['&#9;', '&#x9;', '\t'],
    ['&#09;', '&#x9;', '\t'],
    ['&#x10000;', '\u{10000}', '\u{10000}'],
    ['&#x10FFFF;', '\u{10ffff}', '\u{10ffff}'],
    ['&#x0010FFFF;', '\u{10ffff}', '\u{10ffff}'],
    ['&#10;', '&#xA;', '\n'],
    ['&#13;', '&#xD;', '&#xD;'],
    ['&#x41;', 'A', 'A'],
    ['&#65;', 'A', 'A'],
    ['&#xA9;', '©', '©'],
    ['&#xD7;', '×', '×'],
    ['&#x39;', '9', '9'],
    ...['&#xabc;', '&#xdef;', '&#xABC;', '&#xDEF;', '&#x1234;', '&#x5678;', '&#xa90;'].map((hex): [string, string, string] => {
      const character = String.fromCodePoint(Number.parseInt(hex.slice(3, -1), 16));
      return [hex, character, character];
    }),
  ])('is written as its character is, in a value and in text: %s', (reference, value, text) => {
    expect(whole(`<a b="${reference}"/>`)).toBe(`<a b="${value}"></a>`);
    expect(whole(`<a b="1${reference}2"></a>`)).toBe(`<a b="1${value}2"></a>`);
    expect(whole(`<a>${reference}</a>`)).toBe(`<a>${text}</a>`);
    expect(whole(`<a>1${reference}2</a>`)).toBe(`<a>1${text}2</a>`);
  });
});

describe('white space and line ends', () => {
  it.each([
    ['\r', ' '],
    ['\n', ' '],
    ['\t', ' '],
    ['\r\n', ' '],
    ['\r\r', '  '],
    ['\n\n', '  '],
    ['\t\n', '  '],
    ['\r\t', '  '],
    ['\n\r', '  '],
    ['\r\r\n', '  '],
    ['x\r', 'x '],
    ['\rx', ' x'],
    ['\tx\n', ' x '],
  ])('in a value are one space each, a line end too: %j', (written, value) => {
    expect(whole(`<a b="${written}"/>`)).toBe(`<a b="${value}"></a>`);
    expect(whole(`<a b="1${written}2"/>`)).toBe(`<a b="1${value}2"></a>`);
  });

  it.each([
    ['<a><!--é\r\nü--></a>', '<a><!--é\nü--></a>'],
    ['<a><?p é\rü?></a>', '<a><?p é\nü?></a>'],
    ['<a><?p é\r\r\n?></a>', '<a><?p é\n\n?></a>'],
    ['<a>é\r\nü\r</a>', '<a>é\nü\n</a>'],
    ['<a><![CDATA[é\r\nü\r]]></a>', '<a>é\nü\n</a>'],
  ])('are line feeds beside characters above ASCII: %j', (xml, form) => {
    expect(whole(xml)).toBe(form);
  });
});

it.each([
  ['<?p\tx?>', '<?p x?>'],
  ['<?p\nx?>', '<?p x?>'],
  ['<?p  x  ?>', '<?p x  ?>'],
  ['<?p x?>', '<?p x?>'],
  ['<?p ?>', '<?p?>'],
  ['<?p?>', '<?p?>'],
  ['<?p \t\r\n?>', '<?p?>'],
])('an instruction has one space before its data: %j', (written, form) => {
  expect(whole(`<a>${written}</a>`)).toBe(`<a>${form}</a>`);
});

describe('brackets', () => {
  it.each([
    ['<a>]></a>', '<a>]&gt;</a>'],
    ['<a>x]></a>', '<a>x]&gt;</a>'],
    ['<a>]x></a>', '<a>]x&gt;</a>'],
    ['<a><![CDATA[]>]]></a>', '<a>]&gt;</a>'],
    ['<a><![CDATA[]x>]]></a>', '<a>]x&gt;</a>'],
    ['<a><![CDATA[]]]]>></a>', '<a>]]&gt;</a>'],
    ['<a>]]<b/>></a>', '<a>]]<b></b>&gt;</a>'],
  ])('do not end what they do not end: %s', (xml, form) => {
    expect(whole(xml)).toBe(form);
  });
});

describe('a document is refused', () => {
  it.each<readonly [string, string]>([
    ['<a b="\0"/>', 'a character is not allowed (line 1, column 7)'],
    ['<a>\0</a>', 'a character is not allowed (line 1, column 4)'],
    ['<a b="\u001f"/>', 'a character is not allowed (line 1, column 7)'],
    ['<a>\u001f</a>', 'a character is not allowed (line 1, column 4)'],
    ['<a><!--\0--></a>', 'a character is not allowed (line 1, column 8)'],
    ['<a><?p \u001f?></a>', 'a character is not allowed (line 1, column 8)'],
    ['<a><![CDATA[\0]]></a>', 'a character is not allowed (line 1, column 13)'],
    ['<![CDATA[x]]><a/>', 'text outside the root element (line 1, column 1)'],
    ['<a/><![CDATA[]]>', 'text outside the root element (line 1, column 5)'],
    ['<a><!-x--></a>', 'a declaration is not allowed (line 1, column 4)'],
    ['<a><!x---></a>', 'a declaration is not allowed (line 1, column 4)'],
    ['<abc></a>', 'an end tag does not fit its start tag (line 1, column 6)'],
    ['<-p:a/>', 'a name is malformed (line 1, column 2)'],
    ['<p:-a/>', 'a name is malformed (line 1, column 2)'],
    ['<p:/>', 'a name is malformed (line 1, column 2)'],
    ['<p: a=""/>', 'a name is malformed (line 1, column 2)'],
    ['<a p:=""/>', 'a name is malformed (line 1, column 4)'],
    ['<a xmlns:=""/>', 'a name is malformed (line 1, column 4)'],
    ['<a ="1"/>', 'a tag is malformed (line 1, column 4)'],
    ...['&A;', '&Z;', '&a;', '&z;', '&q0;', '&q9;'].map(
      (one) => [`<a>${one}</a>`, 'an entity is not declared (line 1, column 4)'] as const,
    ),
    ...['&#x4#1;', '&#4#1;', '&#xG;', '&#xg;', '&#a;'].map(
      (one) => [`<a>${one}</a>`, 'a character reference is malformed (line 1, column 4)'] as const,
    ),
    ...['&#x10FFFF0;', '&#x110000;', '&#1114112;', '&#11141110;', `&#${'9'.repeat(400)};`].map(
      (one) => [`<a>${one}</a>`, 'a character reference stands for no character of XML (line 1, column 4)'] as const,
    ),
    ...['&q-;', '&q:;', '&q@;', '&q[;', '&q`;', '&q{;', '&q/;', '&é;'].map(
      (one) => [`<a>${one}</a>`, 'a reference is malformed (line 1, column 4)'] as const,
    ),
    ['<a>x]]></a>', 'text contains ]]> (line 1, column 5)'],
    ['<a>]]]></a>', 'text contains ]]> (line 1, column 5)'],
    ['<a>&amp;]]></a>', 'text contains ]]> (line 1, column 9)'],
    ['<a><?p/x?></a>', 'a processing instruction has no target (line 1, column 4)'],
    ['<a><?p:q x?></a>', 'a processing instruction has no target (line 1, column 4)'],
  ])('with its place, wherever it is cut: %j', (xml, message) => {
    expect(() => whole(xml)).toThrow(message);
    const bytes = Buffer.from(xml);
    for (let cut = 1; cut < bytes.length; cut += 1)
      expect(() => canonicalForm([bytes.subarray(0, cut), bytes.subarray(cut)], { apex: undefined, algorithm: 'C14N' })).toThrow(message);
  });
});

it('names have all characters above ASCII, and all that may start one behind their start', () => {
  const name = 'ÀÿĀ\u{10000}\u{effff}AZaz_';
  expect(whole(`<${name}-.09 ${name}="1"/>`)).toBe(`<${name}-.09 ${name}="1"></${name}-.09>`);
  for (const start of ['-', '.', '0', '9', '/', '@', '[', '`', '{']) expect(() => whole(`<${start}a/>`)).toThrow(/name|end tag/);
});

it('an apex inherits attributes of the namespace xml, by 1.1 only those that are inherited anywhere', () => {
  const xml = '<a xml:space="preserve" xml:lang="en" xml:id="i" xml:other="o" xml:base="http://h/d/"><b><c xml:lang="fr"/></b></a>';
  const form = (algorithm: CanonicalPart['algorithm']): string => canonicalForm(xml, { apex: 2, algorithm });
  expect(form('C14N')).toBe('<c xml:base="http://h/d/" xml:id="i" xml:lang="fr" xml:other="o" xml:space="preserve"></c>');
  expect(form('C14N_11')).toBe('<c xml:base="http://h/d/" xml:lang="fr" xml:space="preserve"></c>');
  expect(form('EXC_C14N')).toBe('<c xml:lang="fr"></c>');
  // They stand where their namespace does.
  const around = '<a xml:lang="en" xmlns:p="http://a" xmlns:q="urn:q"><b q:x="1" p:y="2" xml:id="i" z="3"/></a>';
  expect(canonicalForm(around, { apex: 1, algorithm: 'C14N' })).toBe(
    '<b xmlns:p="http://a" xmlns:q="urn:q" z="3" p:y="2" xml:id="i" xml:lang="en" q:x="1"></b>',
  );
});

it('an attribute without a prefix needs no namespace', () => {
  const xml = '<p:a xmlns="u:d" xmlns:p="u:p" x="1" p:y="2"><p:b x="1"/></p:a>';
  expect(canonicalForm(xml, { apex: undefined, algorithm: 'EXC_C14N' })).toBe('<p:a xmlns:p="u:p" x="1" p:y="2"><p:b x="1"></p:b></p:a>');
});

it('names are told apart though their sums are the same', () => {
  // The sums of `Aa` and `BB` are.
  expect(whole('<Aa><BB/><Aa BB="1" Aa="2"/></Aa>')).toBe('<Aa><BB></BB><Aa Aa="2" BB="1"></Aa></Aa>');
  expect(() => whole('<Aa></BB>')).toThrow('an end tag does not fit its start tag');
});

it('an apex inherits in its own form alone', () => {
  const xml = '<a xml:lang="en" xml:base="b/" xmlns:p="u:p"><b><c xml:base="d"/></b></a>';
  const parts = [undefined, 0, 1, 2].flatMap((apex) => canonicalisations.map((algorithm) => ({ apex, algorithm })));
  expect(canonicalForms(xml, parts)).toEqual(parts.map((part) => canonicalForm(xml, part)));
  expect(
    canonicalForms(xml, [
      { apex: undefined, algorithm: 'C14N' },
      { apex: 1, algorithm: 'C14N' },
    ]),
  ).toEqual([
    xml.replace(' xml:lang="en" xml:base="b/" xmlns:p="u:p"', ' xmlns:p="u:p" xml:base="b/" xml:lang="en"').replace('/></b>', '></c></b>'),
    '<b xmlns:p="u:p" xml:base="b/" xml:lang="en"><c xml:base="d"></c></b>',
  ]);
});

it('nothing is lost where a chunk of 2,048 bytes ends', () => {
  for (let length = 2030; length < 2060; length += 1) {
    const value = 'x'.repeat(length);
    expect(whole(`<a b='${value}'/>`)).toBe(`<a b="${value}"></a>`);
    expect(whole(`<!--${value}--><?p?><a b="&#38;${value}" c=""/><!---->`)).toBe(
      `<!--${value}-->\n<?p?>\n<a b="&amp;${value}" c=""></a>\n<!---->`,
    );
  }
});

describe('attributes', () => {
  it.each([
    ['<a c="1" b="2"></a>', '<a b="2" c="1"></a>'],
    ['<a c="1" b="2"/>', '<a b="2" c="1"></a>'],
    ['<a b="1" c="2"></a>', '<a b="1" c="2"></a>'],
    ['<a xmlns:p="u:p" p:c="1" p:b="2"></a>', '<a xmlns:p="u:p" p:b="2" p:c="1"></a>'],
    ['<p:a xmlns:p="u:p"><p:b p:c="1" p:b="2" a="3"></p:b></p:a>', '<p:a xmlns:p="u:p"><p:b a="3" p:b="2" p:c="1"></p:b></p:a>'],
    ['<a xmlns:p="u:q" xmlns:q="u:p" p:a="1" q:b="2" q:a="3" z="4"/>', '<a xmlns:p="u:q" xmlns:q="u:p" z="4" q:a="3" q:b="2" p:a="1"></a>'],
    ['<a xmlns:q="u:p" xmlns:p="u:p" q:b="1" p:a="2"/>', '<a xmlns:p="u:p" xmlns:q="u:p" p:a="2" q:b="1"></a>'],
  ])('are in the order of their namespaces and names: %s', (xml, form) => {
    expect(whole(xml)).toBe(form);
  });

  it('are so however many there are', () => {
    for (const count of [16, 17, 40]) {
      const names = Array.from({ length: count }, (_, index) => `p:a${String(index).padStart(2, '0')}`);
      const tag = (list: readonly string[]): string => `<a xmlns:p="u:p"${list.map((name) => ` ${name}=""`).join('')}></a>`;
      expect(whole(tag(names.toReversed()))).toBe(tag(names));
      expect(whole(tag([...names.slice(1), ...names.slice(0, 1)]))).toBe(tag(names));
    }
  });
});

describe('a document in pieces', () => {
  const inPieces = (...pieces: readonly string[]): string =>
    canonicalForm(
      pieces.map((piece) => Buffer.from(piece)),
      { apex: undefined, algorithm: 'C14N_WITH_COMMENTS' },
    );
  const xml =
    '<?xml version="1.0" ?><p:a xmlns:p="u:p" xmlns = \'d\' p:y="&#65;" x= "1\r\n2"  ><!--\r\n--><p:b/>]]&gt;]<c/><![CDATA[]\r>\r\n]]]]><?q \r?></p:a\n>\n<!---->';
  const form = '<p:a xmlns="d" xmlns:p="u:p" x="1 2" p:y="A"><!--\n--><p:b></p:b>]]&gt;]<c></c>]\n&gt;\n]]<?q?></p:a>\n<!---->';

  it('has the same form wherever it is cut, once and twice', () => {
    expect(whole(xml)).toBe(form);
    for (let cut = 1; cut < xml.length; cut += 1) {
      expect(inPieces(xml.slice(0, cut), xml.slice(cut))).toBe(form);
      expect(inPieces(xml.slice(0, cut), xml.slice(cut, cut + 1), '', xml.slice(cut + 1))).toBe(form);
    }
  });

  it('may have its byte order mark in two of them', () => {
    const bytes = Buffer.from('\ufeff<?xml version="1.0"?><a/>');
    for (let cut = 0; cut <= 5; cut += 1)
      for (const more of [[], [Buffer.alloc(0)]]) {
        const pieces = [bytes.subarray(0, cut), ...more, bytes.subarray(cut)];
        expect(canonicalForm(pieces, { apex: undefined, algorithm: 'C14N' })).toBe('<a></a>');
      }
  });

  it('has one XML declaration, at its start', () => {
    expect(() => inPieces('<a>', '<?xml version="1.0"?></a>')).toThrow('a processing instruction has the target xml (line 1, column 4)');
    expect(() => inPieces('<!---->', '<?xml version="1.0"?><a/>')).toThrow('the target xml (line 1, column 8)');
    expect(() => inPieces(' ', '<?xml version="1.0"?><a/>')).toThrow('the target xml (line 1, column 2)');
  });
});

describe('what a form is written to', () => {
  const write = (xml: string, apex: number, to: CanonicalPart['write']): void => {
    canonicalise([Buffer.from(xml)], [{ apex, algorithm: 'C14N', write: to }]);
  };

  it('is not called where there is nothing', () => {
    const written: number[] = [];
    write('<a><b/></a>', 9, ({ length }) => written.push(length));
    expect(written).toEqual([]);
    write('<a><b/></a>', 1, ({ length }) => written.push(length));
    expect(written).toEqual(['<b></b>'.length]);
  });

  it('may fail, and its error is not one of the document', () => {
    const fails = (): never => {
      throw new RangeError('the disk is full');
    };
    expect(() => {
      write('<a/>', 0, fails);
    }).toThrow(new RangeError('the disk is full'));
  });
});
