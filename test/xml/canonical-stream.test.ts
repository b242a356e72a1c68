import { describe, expect, test } from 'vitest';
import { canonicalisations, canonicalisationUris, type Canonicalisation } from '../../src/xml/canonicalisation.ts';
import { canonicalise } from '../../src/xml/canonical-stream.ts';
import { removeDotSegments } from '../../src/xml/xml-base.ts';
import { XmlFault } from '../../src/xml/xml-fault.ts';
import { canonicalForm, canonicalForms } from './canonical-form.ts';

const whole = (xml: string, algorithm: Canonicalisation = 'C14N'): string => canonicalForm(xml, { apex: undefined, algorithm });
const subtree = (xml: string, apex: number, algorithm: Canonicalisation, inclusivePrefixes: string[] = []): string =>
  canonicalForm(xml, { apex, algorithm, inclusivePrefixes });

describe('Canonical XML 1.0, section 3', () => {
  const outside = [
    '<?xml version="1.0"?>',
    '',
    '<?sheet   href="a.xsl"',
    '   type="text/xsl"   ?>',
    '',
    '<!-- before -->',
    '<doc>Hello<!-- inside --></doc>',
    '',
    '<?alone     ?>',
    '',
    '<!-- behind 1 -->',
    '<!-- behind 2 -->',
  ].join('\n');

  test('3.1: instructions outside the root remain, with line feeds between them and the root', () => {
    expect(whole(outside)).toBe('<?sheet href="a.xsl"\n   type="text/xsl"   ?>\n<doc>Hello</doc>\n<?alone?>');
  });

  test('3.1: with comments', () => {
    expect(whole(outside, 'C14N_WITH_COMMENTS')).toBe(
      '<?sheet href="a.xsl"\n   type="text/xsl"   ?>\n<!-- before -->\n<doc>Hello<!-- inside --></doc>\n<?alone?>\n<!-- behind 1 -->\n<!-- behind 2 -->',
    );
  });

  test('3.2: white space in content remains', () => {
    const xml =
      '<doc>\n   <clean>   </clean>\n   <dirty>   A   B   </dirty>\n   <mixed>\n      A\n      <clean>   </clean>\n   </mixed>\n</doc>';
    expect(whole(xml)).toBe(xml);
  });

  test.each([
    ['an empty tag', '<e1   />', '<e1></e1>'],
    ['white space in tags', '<e2   ></e2   >', '<e2></e2>'],
    ['white space around names and values', '<e3   name = "elem3"   id=\'elem3\'   />', '<e3 id="elem3" name="elem3"></e3>'],
    [
      'attributes, by their namespaces',
      '<e5 a:attr="out" b:attr="sorted" attr2="all" attr="I\'m" xmlns:b="http://www.ietf.org" xmlns:a="http://www.w3.org" xmlns="http://example.org"/>',
      '<e5 xmlns="http://example.org" xmlns:a="http://www.w3.org" xmlns:b="http://www.ietf.org" attr="I\'m" attr2="all" b:attr="sorted" a:attr="out"></e5>',
    ],
    [
      'superfluous declarations',
      '<e6 xmlns="" xmlns:a="urn:a"><e7 xmlns="urn:d"><e8 xmlns="" xmlns:a="urn:a"><e9 xmlns="" xmlns:a="urn:b"/></e8></e7></e6>',
      '<e6 xmlns:a="urn:a"><e7 xmlns="urn:d"><e8 xmlns=""><e9 xmlns:a="urn:b"></e9></e8></e7></e6>',
    ],
    ['the prefix xml', '<e xmlns:xml="http://www.w3.org/XML/1998/namespace" xml:lang="en"/>', '<e xml:lang="en"></e>'],
  ])('3.3: %s', (_name, xml, form) => {
    expect(whole(xml)).toBe(form);
  });

  test.each([
    ['line ends', '<t>one\r\ntwo\rthree\r\r\n</t>', '<t>one\ntwo\nthree\n\n</t>'],
    ['a referred carriage return', '<t>First&#x0d;&#10;Second&#xD;</t>', '<t>First&#xD;\nSecond&#xD;</t>'],
    ['characters of markup', '<t>&#x32; &lt;&#60;&amp;&gt;></t>', '<t>2 &lt;&lt;&amp;&gt;&gt;</t>'],
    [
      'CDATA',
      '<t><![CDATA[value>"0" && value<"10" ?"valid":"error"]]]]></t>',
      '<t>value&gt;"0" &amp;&amp; value&lt;"10" ?"valid":"error"]]</t>',
    ],
    [
      'quotes in a value',
      `<t expr='value>"0" &amp;&amp; value&lt;"10"'/>`,
      '<t expr="value>&quot;0&quot; &amp;&amp; value&lt;&quot;10&quot;"></t>',
    ],
    ['white space in a value', `<t a='  a\n\r\n\tb &apos;&#x20;&#13;&#xa;&#9;'/>`, `<t a="  a   b ' &#xD;&#xA;&#x9;"></t>`],
    ['a character above ASCII', '<t>&#169;&#x1F600;©</t>', '<t>©😀©</t>'],
    ['line ends in comments and instructions', '<t><!--a\r\nb--><?p a\rb?></t>', '<t><!--a\nb--><?p a\nb?></t>'],
  ])('3.4 and 3.6: %s', (_name, xml, form) => {
    expect(whole(xml, 'C14N_WITH_COMMENTS')).toBe(form);
  });

  test('attributes are in the order of code points, not of units of UTF-16', () => {
    expect(whole('<t 𐐷="2" ｚ="1"/>')).toBe('<t ｚ="1" 𐐷="2"></t>');
  });

  test('2.4: the apex of a subtree has the namespaces and the attributes xml:… of the elements around it', () => {
    const xml =
      '<a xmlns="urn:d" xmlns:p="urn:p" xml:lang="en" xml:id="x" xml:base="b/"><b xml:lang="fr"><c z="1" p:y="2" xml:base="c"/></b></a>';
    expect(subtree(xml, 2, 'C14N')).toBe('<c xmlns="urn:d" xmlns:p="urn:p" z="1" xml:base="c" xml:id="x" xml:lang="fr" p:y="2"></c>');
    expect(subtree(xml, 2, 'C14N_11')).toBe('<c xmlns="urn:d" xmlns:p="urn:p" z="1" xml:base="b/c" xml:lang="fr" p:y="2"></c>');
    expect(subtree(xml, 2, 'EXC_C14N')).toBe('<c xmlns="urn:d" xmlns:p="urn:p" z="1" xml:base="c" p:y="2"></c>');
  });
});

describe('Canonical XML 1.1', () => {
  const base = (...values: (string | undefined)[]): string | undefined => {
    const open = values.map((value) => `<e${value === undefined ? '' : ` xml:base="${value}"`}>`).join('');
    return / xml:base="([^"]*)"/.exec(subtree(open + '</e>'.repeat(values.length), values.length - 1, 'C14N_11'))?.[1];
  };

  test.each([
    [['abc/', '../'], undefined],
    [['../', '../'], '../../'],
    [['..', '..'], '../../'],
    [['..', '..', 'x'], '../../x'],
    [['something/else', 'bar/', 'foo'], 'something/bar/foo'],
    [['something/else', undefined, undefined], 'something/else'],
    [[undefined, ''], ''],
    [['http://a/b/c/d;p?q', 'g?y#s'], 'http://a/b/c/g?y'],
    [['http://a/b/c/d;p?q', '../../../g'], 'http://a/g'],
    [['http://a/b/c/d;p?q', '//g/./h'], 'http://g/h'],
    [['http://a/b/c/d;p?q', '?y'], 'http://a/b/c/d;p?y'],
    [['http://a/b', 'urn:x'], 'urn:x'],
    [['http://a', 'b'], 'http://a/b'],
    [['a//b/', 'c'], 'a/b/c'],
    [['é/', 'c d'], 'é/c d'],
  ])('2.4: the bases %j are combined as %j', (values, joined) => {
    expect(base(...values)).toBe(joined);
  });

  test.each([
    ['no/.././/pseudo-netpath/seg/file.ext', 'pseudo-netpath/seg/file.ext'],
    ['yes/no//..//.///pseudo-netpath/seg/file.ext', 'yes/pseudo-netpath/seg/file.ext'],
    ['../../no/../..', '../../../'],
    ['no/..', ''],
    ['/a/b/c/./../../g', '/a/g'],
    ['..yes/..no/..no/..no/../../../..yes', '..yes/..yes'],
    ['./.', ''],
    ['//no/..', '/'],
    ['/../../..', '/'],
    ['//..//..', '/'],
    ['..', '../'],
  ])('appendix A: %s becomes %j', (path, without) => {
    expect(removeDotSegments(path)).toBe(without);
  });
});

test('bases that are too long to be combined are refused', () => {
  const xml = `<r xml:base="${'a/'.repeat(3_000)}">`.repeat(2) + '</r>'.repeat(2);
  expect(() => subtree(xml, 1, 'C14N_11')).toThrow('too long to be combined (line 1, column 6016)');
  expect(subtree(xml, 1, 'EXC_C14N')).toMatch(/^<r xml:base="a\/a/);
});

describe('Exclusive XML Canonicalization, section 2.2', () => {
  const first =
    '<n0:pdu xmlns:n0="http://a.example" xmlns:n1="http://b.example"><n1:elem2 xml:lang="en"><n3:stuff xmlns:n3="ftp://example.org"/></n1:elem2></n0:pdu>';
  const second = first.replace('http://a.example', 'http://c.example').replace('<n0:pdu', '<n0:pdu xmlns="urn:d" xml:lang="fr"');
  const form = '<n1:elem2 xmlns:n1="http://b.example" xml:lang="en"><n3:stuff xmlns:n3="ftp://example.org"></n3:stuff></n1:elem2>';

  test('the form of an element does not depend on where it is', () => {
    expect(subtree(first, 1, 'EXC_C14N')).toBe(form);
    expect(subtree(second, 1, 'EXC_C14N')).toBe(form);
    expect(subtree(first, 1, 'C14N')).not.toBe(subtree(second, 1, 'C14N'));
  });

  test('prefixes of the list are treated as in Canonical XML', () => {
    expect(subtree(second, 1, 'EXC_C14N', ['n0', '#default', 'unused'])).toBe(
      form.replace('xmlns:n1', 'xmlns="urn:d" xmlns:n0="http://c.example" xmlns:n1'),
    );
  });

  test('a declaration is repeated beside the elements that use it, and only there', () => {
    expect(whole('<a xmlns:p="urn:p" xmlns:q="urn:q"><p:b/><c p:d="" q:e=""><p:f/></c><p:g/></a>', 'EXC_C14N')).toBe(
      '<a><p:b xmlns:p="urn:p"></p:b><c xmlns:p="urn:p" xmlns:q="urn:q" p:d="" q:e=""><p:f></p:f></c><p:g xmlns:p="urn:p"></p:g></a>',
    );
  });

  test('the default namespace is undeclared only where the output has one', () => {
    expect(whole('<a xmlns="urn:d"><b xmlns=""><p:c xmlns="urn:e" xmlns:p="urn:p"><d xmlns=""/></p:c></b></a>', 'EXC_C14N')).toBe(
      '<a xmlns="urn:d"><b xmlns=""><p:c xmlns:p="urn:p"><d></d></p:c></b></a>',
    );
  });
});

describe('parts', () => {
  const xml = '<a xmlns="urn:a"><!--1--><s xmlns="urn:s"><b/><s/></s><b>2<s xmlns="urn:t"/></b><!--3--></a><!--4-->';
  const without = [{ namespace: 'urn:s', localName: 's' }];

  test('many forms of many elements are written in one pass', () => {
    const parts = [undefined, 0, 2, 4, 5].flatMap((apex) => canonicalisations.map((algorithm) => ({ apex, algorithm, without })));
    expect(canonicalForms(xml, parts)).toEqual(parts.map((part) => canonicalForm(xml, part)));
  });

  test('elements are left out by namespace and local name, with everything in them', () => {
    expect(canonicalForm(xml, { apex: undefined, algorithm: 'EXC_C14N_WITH_COMMENTS', without })).toBe(
      '<a xmlns="urn:a"><!--1--><b>2<s xmlns="urn:t"></s></b><!--3--></a>\n<!--4-->',
    );
    expect(canonicalForm('<a><b/>c</a>', { apex: 0, algorithm: 'C14N', without: [{ namespace: undefined, localName: 'b' }] })).toBe(
      '<a>c</a>',
    );
  });

  test.each([1, 2, 3])('nothing remains of an element that is left out, or is in one that is (%i)', (apex) => {
    expect(canonicalForm(xml, { apex, algorithm: 'C14N', without })).toBe('');
  });

  test('comments are left out where a reference does not select them', () => {
    expect(canonicalForm('<a><!--1--></a>', { apex: 0, algorithm: 'C14N_WITH_COMMENTS', leavesOutComments: true })).toBe('<a></a>');
  });

  test('chunks have some 64 KB', () => {
    const sizes: number[] = [];
    canonicalise(
      [Buffer.from(`<a>${'x'.repeat(200_000)}</a>`)],
      [{ apex: undefined, algorithm: 'C14N', write: ({ length }) => sizes.push(length) }],
    );
    expect(sizes).toEqual([2048, 65_536, 65_536, 65_536, 200_007 - 3 * 65_536 - 2048]);
  });

  test('tables of names and namespaces do not grow without end', () => {
    const children = Array.from(
      { length: 50_000 },
      (_, index) => `<p${index}:e${index} xmlns:p${index}="urn:${index}" xmlns="urn:x${index}"></p${index}:e${index}>`,
    );
    const document = `<q:r xmlns:q="urn:q">${children.join('')}<q:s></q:s></q:r>`;
    expect(whole(document, 'EXC_C14N')).toBe(document.replaceAll(/ xmlns="[^"]*"/g, ''));
    expect(whole(document)).toBe(document.replaceAll(/(xmlns:p\d+="[^"]*") (xmlns="[^"]*")/g, '$2 $1'));
  });
});

describe('a document that is not well formed', () => {
  test.each([
    ['', 'no root element', 1, 1],
    ['  <!-- -->', 'no root element', 1, 11],
    ['<?xml version="1.0"', 'ends too early', 1, 20],
    ['<a>', 'ends too early', 1, 4],
    ['<a', 'ends too early', 1, 3],
    ['<a><![CDATA[ ', 'ends too early', 1, 14],
    ['<a></b>', 'end tag', 1, 4],
    ['<a></aa>', 'end tag', 1, 4],
    ['<a></a b>', 'end tag', 1, 4],
    ['<a/></a>', 'end tag', 1, 5],
    ['<a/><a/>', 'second root', 1, 5],
    ['<a/>b', 'outside', 1, 5],
    ['\n é <![CDATA[]]><a/>', 'outside', 2, 2],
    ['<!DOCTYPE a><a/>', 'declaration', 1, 1],
    ['<a>\r\n<b c="1"\r c="2"/></a>', 'twice', 3, 5],
    ['<a xmlns:p="urn:p" xmlns:q="urn:p" p:b="" q:b=""/>', 'twice', 1, 48],
    ['<a xmlns:p="urn:p" xmlns:p="urn:p"/>', 'twice', 1, 29],
    ['<p:a/>', 'prefix is not declared', 1, 1],
    ['<a p:b=""/>', 'prefix is not declared', 1, 1],
    ['<a xmlns:p=""/>', 'without a namespace', 1, 13],
    ['<a xmlns:xml="urn:x"/>', 'reserved', 1, 15],
    ['<a xmlns="http://www.w3.org/2000/xmlns/"/>', 'reserved', 1, 11],
    ['<a:b:c/>', 'name', 1, 2],
    ['<1/>', 'name', 1, 2],
    ['< a/>', 'no name', 1, 1],
    ['<a b/>', 'no value', 1, 4],
    ['<a b=c/>', 'no quotes', 1, 6],
    ['<a b="1"c="2"/>', 'white space', 1, 9],
    ['<a b="<"/>', 'contains <', 1, 7],
    ['<a b="&c;"/>', 'not declared', 1, 7],
    ['<a>&c;</a>', 'not declared', 1, 4],
    ['<a>&c </a>', 'malformed', 1, 4],
    ['<a>&#;</a>', 'empty', 1, 4],
    ['<a>&#xg;</a>', 'malformed', 1, 4],
    ['<a>&#0;</a>', 'no character', 1, 4],
    ['<a>&#xD800;</a>', 'no character', 1, 4],
    ['<a>&#x110000;</a>', 'no character', 1, 4],
    ['<a>]]></a>', ']]>', 1, 4],
    ['<a>\u{1}</a>', 'not allowed', 1, 4],
    ['<a b="\u{1}"/>', 'not allowed', 1, 7],
    ['<a><!-- -- --></a>', '--', 1, 9],
    ['<a><?xml version="1.0"?></a>', 'target xml', 1, 4],
    ['<?xml?><a/>', 'target xml', 1, 1],
    ['<?xml encoding="UTF-8"?><a/>', 'declaration', 1, 1],
    ['<a><? b?></a>', 'no target', 1, 4],
  ])('is refused: %s', (xml, message, line, column) => {
    expect(() => whole(xml)).toThrow(message);
    expect(() => whole(xml)).toThrow(expect.objectContaining({ line, column }));
  });

  test('nor is one that is not in UTF-8', () => {
    for (const bytes of [[0xff], [0xc3], [0xc3, 0x41], [0xed, 0xa0, 0x80], [0xf0, 0x90, 0x90]])
      for (const cut of [0, 1, 2])
        expect(() => {
          canonicalise(
            [Buffer.from('<a>'), Uint8Array.from(bytes.slice(0, cut)), Uint8Array.from(bytes.slice(cut)), Buffer.from('</a>')],
            [],
          );
        }).toThrow(XmlFault);
  });
});

test('each algorithm has the identifier of the W3C', () => {
  expect(new Set(Object.values(canonicalisationUris)).size).toBe(canonicalisations.length);
  for (const algorithm of canonicalisations)
    expect(canonicalisationUris[algorithm].endsWith('#WithComments')).toBe(algorithm.endsWith('_WITH_COMMENTS'));
});
