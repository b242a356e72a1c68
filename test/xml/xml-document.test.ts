import { describe, expect, it } from 'vitest';
import { engine } from '../../src/xml/engine.ts';
import { XmlDocument } from '../../src/xml/xml-document.ts';
import { XmlFault } from '../../src/xml/xml-fault.ts';
import { StepBudget } from '../../src/xml/step-budget.ts';
import { checkXPath, filterNodes, selectElements, XPathInvalid, XPathTooSlow } from '../../src/xml/xpath.ts';

const parse = (text: string): XmlDocument => XmlDocument.parse(Buffer.from(text));
const steps = (): StepBudget => new StepBudget(1_000_000);

/** The error that `run` throws. */
function thrown(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  return undefined;
}

describe('XmlDocument', () => {
  it.each([
    ['<a>\n  <b></a>', 2, 'Opening and ending tag mismatch'],
    ['', 1, 'Document is empty'],
    ['<a b="1"\n b="2"/>', 2, 'Attribute b redefined'],
    ['<p:a/>', 1, 'Namespace prefix p on a is not defined'],
    ['<a>&unknown;</a>', 1, "Entity 'unknown' not defined"],
    ['<a/><b/>', 1, 'Extra content'],
    ['<a>\u0001</a>', 1, 'PCDATA invalid Char value 1'],
  ])('refuses what is not well formed, and says where: %j', (text, line, message) => {
    const error = thrown(() => parse(text));
    expect(error).toBeInstanceOf(XmlFault);
    expect(error).toMatchObject({ line, message: expect.stringContaining(message) as string });
  });

  it.each<[string, Buffer]>([
    ['UTF-16LE', Buffer.from('\ufeff<r><a/></r>', 'utf16le')],
    ['UTF-16BE', Buffer.from('\ufeff<r><a/></r>', 'utf16le').swap16()],
    ['UTF-16LE by a declaration', Buffer.from('<?xml version="1.0"?><r/>', 'utf16le')],
    ['UCS-4', Buffer.from(Array.from('<r/>', (character) => [0, 0, 0, character.charCodeAt(0)]).flat())],
  ])('does not take the bytes for %s: they are UTF-8', (_name, bytes) => {
    expect(() => XmlDocument.parse(bytes)).toThrow(XmlFault);
    expect(() => XmlDocument.parse(Buffer.concat([Buffer.of(0xef, 0xbb, 0xbf), bytes]))).toThrow(XmlFault);
  });

  it('refuses bytes that are not UTF-8', () => {
    expect(() => XmlDocument.parse(Buffer.of(0x3c, 0x61, 0x3e, 0xff, 0x3c, 0x2f, 0x61, 0x3e))).toThrow(
      'Invalid bytes in character encoding',
    );
  });

  it('expands no entity and opens no file, even where a DOCTYPE got past the scanner', () => {
    for (const declaration of ['<!ENTITY e SYSTEM "/etc/hostname">', '<!ENTITY e "1234567890">']) {
      using document = parse(`<!DOCTYPE a [${declaration}]><a>&e;</a>`);
      const error = thrown(() => document.canonical({ algorithm: 'C14N' }));
      const text = error instanceof Error ? error.message : document.canonical({ algorithm: 'C14N' }).toString();
      expect(text).not.toMatch(/>[^<]*[a-z0-9][^<]*</);
    }
  });

  it('reads names, attributes and namespaces', () => {
    using document = parse('<a xmlns="urn:x:1" xmlns:p="urn:x:2" p:b="2" b="1"><p:c xmlns:p="urn:x:3"/>t<d xmlns=""/></a>');
    const { root } = document;
    expect([document.localName(root), document.namespace(root)]).toEqual(['a', 'urn:x:1']);
    expect([document.attribute(root, 'b'), document.attribute(root, 'b', 'urn:x:2'), document.attribute(root, 'c')]).toEqual([
      '1',
      '2',
      undefined,
    ]);
    const [c, d] = document.children(root);
    if (c === undefined || d === undefined) throw new Error('two children');
    expect([document.namespace(c), document.namespace(d), document.text(root)]).toEqual(['urn:x:3', undefined, 't']);
    expect(document.prefixesAt(c)).toEqual({ p: 'urn:x:3' });
    expect([document.indexOf(root), document.indexOf(c), document.indexOf(d)]).toEqual([0, 1, 2]);
    expect([document.isWithin(d, root), document.isWithin(root, d)]).toEqual([true, false]);
  });

  it('puts elements back that a canonical form leaves out', () => {
    using document = parse('<a><b/>1<c/>2<b><c/></b></a>');
    const before = document.canonical({ algorithm: 'C14N' }).toString();
    for (const names of [['b'], ['c'], ['b', 'c'], ['a']]) {
      const without = Array.from(document.elements()).filter((element) => names.includes(document.localName(element)));
      const form = document.canonical({ algorithm: 'C14N', without }).toString();
      expect(names.some((name) => form.includes(`<${name}>`))).toBe(false);
      expect(document.canonical({ algorithm: 'C14N' }).toString()).toBe(before);
    }
  });

  it('has no canonical form with a relative namespace', () => {
    using document = parse('<a xmlns="relative"/>');
    expect(() => document.canonical({ algorithm: 'EXC_C14N' })).toThrow(XmlFault);
  });

  it('frees the memory of documents: the engine does not grow with their number', () => {
    const bytes = Buffer.from(`<a>${'<b c="d">text</b>'.repeat(2000)}</a>`);
    const round = (): number => {
      for (let count = 0; count < 20; count += 1) {
        using document = XmlDocument.parse(bytes);
        document.canonical({ algorithm: 'EXC_C14N', apex: document.root });
        selectElements({ expression: '//b', namespaces: {} }, document, steps());
        thrown(() => parse('<a><b></a>'));
      }
      return engine().library.HEAPU8.length;
    };
    const first = round();
    for (let count = 0; count < 10; count += 1) expect(round()).toBe(first);
  });
});

describe('XPath', () => {
  it.each(['//*[', 'a] | //b[c', '1 +', "'open", 'a::b', ''])('refuses an expression that is not valid: %s', (expression) => {
    expect(thrown(() => checkXPath({ expression }))).toBeInstanceOf(XPathInvalid);
  });

  it.each([
    ['//x:a', 'Undefined namespace prefix'],
    ['unknown()', 'Unregistered function'],
    ['$variable', 'Undefined variable'],
    ['1 + 1', 'selects no nodes but a value'],
    ["document('/etc/passwd')", 'Unregistered function'],
  ])('reports what fails in a document: %s', (expression, message) => {
    using document = parse('<a/>');
    expect(() => selectElements({ expression, namespaces: {} }, document, steps())).toThrow(message);
  });

  it('selects elements in document order, without other nodes', () => {
    using document = parse('<a x="1"><b/>t<c><b/></c></a>');
    const names = (expression: string): string[] =>
      selectElements({ expression, namespaces: {} }, document, steps(), 9).map((one) => document.localName(one));
    expect(names('//c | //b | //@x | //text() | //namespace::*')).toEqual(['b', 'c', 'b']);
    expect(names('//c | //b | //@x | //text() | //namespace::*')).toEqual(['b', 'c', 'b']);
    expect(names('//@x')).toEqual([]);
    expect(names('//none')).toEqual([]);
  });

  it.each([
    ['operators', `1${'+1'.repeat(251)}`],
    ['operators', `$x${' and 1'.repeat(251)}`],
    ['slashes', `a${'/a'.repeat(251)}`],
    ['predicates', `(//*)${'[.]'.repeat(251)}`],
    ['operators without spaces', `1${'or1'.repeat(251)}`],
    ['arguments', `concat(1${',1'.repeat(251)})`],
    ['brackets', `/a${'[b'.repeat(70)}${']'.repeat(70)}`],
    ['parentheses', `${'('.repeat(70)}/a${')'.repeat(70)}`],
    ['characters', `/a${'/a'.repeat(2100)}`],
  ])('refuses an expression with more %s than the stack of the engine has room for', (_what, expression) => {
    using document = parse('<a/>');
    expect(thrown(() => checkXPath({ expression }))).toBeInstanceOf(XPathInvalid);
    expect(thrown(() => filterNodes({ expression, namespaces: {} }, document, steps()))).toBeInstanceOf(XPathInvalid);
  });

  it('survives the longest expressions, and the engine too', () => {
    using document = parse('<a><b/></a>');
    for (const expression of [
      `/a${'/a'.repeat(1900)}`,
      `/a[${'-'.repeat(3900)}1]`,
      `/a[${'b or '.repeat(800)}b]`,
      `/a${'[b]'.repeat(1300)}`,
      `//b${'|//b'.repeat(900)}`,
      // What fails at the innermost place takes the most of the stack.
      `$x${'+1'.repeat(250)}`,
      `(//*)${'[.]'.repeat(248)}`,
      `(//*)${'[1]'.repeat(248)}`,
      `f()${'+1'.repeat(250)}`,
      `string(0.3333)${'+1'.repeat(250)}`,
      `$x${'/a'.repeat(250)}`,
      `${'/a['.repeat(64)}$x${'+1'.repeat(180)}${']'.repeat(64)}`,
      // Operands that are charged.
      `.${'+.'.repeat(250)}`,
      `.${'=.'.repeat(250)}`,
      `.${'|.'.repeat(250)}`,
      `string-length()${'+string-length()'.repeat(250)}`,
      `${'concat('.repeat(62)}.${',.)'.repeat(62)}=/`,
      `${'translate('.repeat(62)}.${',.,.)'.repeat(62)}=/`,
      `${'/a[.='.repeat(60)}$x${'=.'.repeat(60)}${']'.repeat(60)}`,
      `${'string('.repeat(62)}.${'=.)'.repeat(62)}`,
    ])
      thrown(() => selectElements({ expression, namespaces: {} }, document, steps()));
    expect(document.canonical({ algorithm: 'C14N' }).toString()).toBe('<a><b></b></a>');
    expect(selectElements({ expression: '//b', namespaces: {} }, document, steps()).length).toBe(1);
  });

  it('stops at its limit of steps', () => {
    using document = parse(`<a>${'<b/>'.repeat(1000)}</a>`);
    const expression = '//*[count(//*[count(//*) > 0]) > 0]';
    expect(thrown(() => selectElements({ expression, namespaces: {} }, document, steps()))).toBeInstanceOf(XPathTooSlow);
    expect(thrown(() => filterNodes({ expression: 'count(//*) > 0', namespaces: {} }, document, steps()))).toBeInstanceOf(XPathTooSlow);
  });

  it('filters nodes, each in a context of its own, as XML Signature has it', () => {
    using document = parse('<a xmlns:p="urn:x:p" b="1">text<!-- c --><d/><d/></a>');
    const form = (expression: string): string =>
      document
        .canonical({ algorithm: 'C14N_WITH_COMMENTS', nodes: [filterNodes({ expression, namespaces: {} }, document, steps())] })
        .toString();
    expect(form('true()')).toBe('<a xmlns:p="urn:x:p" b="1">text<!-- c --><d></d><d></d></a>');
    expect(form('not(self::text())')).toBe('<a xmlns:p="urn:x:p" b="1"><!-- c --><d></d><d></d></a>');
    expect(form('self::a or parent::a')).toBe('<a xmlns:p="urn:x:p" b="1">text<!-- c --><d></d><d></d></a>');
    // Namespace nodes are filtered too: the parent of one is its element.
    expect(form('self::*')).toBe('<a><d></d><d></d></a>');
    // A number is true unless it is 0, and not a position.
    expect(form('count(self::d)')).toBe('<d></d><d></d>');
    expect(form('position() = 1 and last() = 1 and self::d')).toBe('<d></d><d></d>');
    expect(form("self::node()[name() = 'p' and . = 'urn:x:p'] or self::a")).toBe('<a xmlns:p="urn:x:p"></a>');
  });
});
