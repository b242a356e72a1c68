import { expect, it } from 'vitest';
import type { Canonicalisation } from '../../src/xml/canonicalisation.ts';
import { engine, type XmlNode } from '../../src/xml/engine.ts';
import { StepBudget } from '../../src/xml/step-budget.ts';
import { XmlDocument } from '../../src/xml/xml-document.ts';
import { parseFault, XmlFault, XmlLimitFault } from '../../src/xml/xml-fault.ts';
import { filterNodes, selectElements } from '../../src/xml/xpath.ts';

const parse = (text: string): XmlDocument => XmlDocument.parse(Buffer.from(text));

it('an element of a signature has 100,000 children at most, of which only elements count', () => {
  const children = (count: number): number => {
    using document = parse(`<a>${'<b/> '.repeat(count)}</a>`);
    return document.children(document.root).length;
  };
  expect(children(100_000)).toBe(100_000);
  expect(() => children(100_001)).toThrow('more than 100000 children');
  expect(() => children(100_001)).toThrow(XmlFault);
});

it('a document has 30 marks, two for each of 15 filters, which can be taken back', () => {
  using document = parse('<a b="1">t<c/></a>');
  const marks = Array.from({ length: 29 }, () => document.newMark());
  expect(marks).toEqual(Array.from({ length: 29 }, (_, index) => 2 ** index));
  const taken = document.withMarks(() => {
    const mark = document.newMark();
    document.mark(document.root, mark);
    document.mark(document.root, 1);
    expect(() => document.newMark()).toThrow('more than 15 XPath filters');
    expect(() => document.newMark()).toThrow(XmlLimitFault);
    return mark;
  });
  expect([taken, document.isMarked(document.root, taken), document.isMarked(document.root, 1)]).toEqual([2 ** 29, false, true]);
  expect(document.newMark()).toBe(2 ** 29);
  document.unmark(document.root, 1);
  expect(document.isMarked(document.root, 1)).toBe(false);
});

it('marks are taken back from all that a filter selects: the document, elements, attributes, texts and comments', () => {
  const selected = (document: XmlDocument, expression: string): string => {
    const nodes = filterNodes({ expression, namespaces: {} }, document, new StepBudget(10_000_000));
    return document.canonical({ algorithm: 'C14N', nodes: [nodes] }).toString();
  };
  using document = parse('<!--o--><a b="1" c="2">t<!--i--><d e="3"/></a>');
  const one = document.withMarks(() => selected(document, 'true()'));
  expect(one).toContain('b="1"');
  for (const [expression, expected] of [
    ['self::a or self::d', '<a><d></d></a>'],
    ['self::d or name() = "e"', '<d e="3"></d>'],
    ['self::text()', 't'],
    ['false()', ''],
  ] as const)
    expect(document.withMarks(() => selected(document, expression))).toBe(expected);
});

it('a filter selects some of the namespaces of 100,000 elements at most', () => {
  const some = (elements: number): number => {
    using document = parse(`<a xmlns:p="urn:p">${'<b/>'.repeat(elements - 1)}</a>`);
    return filterNodes({ expression: "name() = 'p'", namespaces: {} }, document, new StepBudget(1_000_000_000)).namespaces.size;
  };
  expect(some(100_000)).toBe(100_000);
  expect(() => some(100_001)).toThrow('selects some of the namespaces of too many elements');
});

it('a filter that selects all namespaces of an element keeps no list of them', () => {
  const some = (expression: string): number => {
    using document = parse('<a xmlns:p="urn:p"><b xmlns:q="urn:q"/></a>');
    return filterNodes({ expression, namespaces: {} }, document, new StepBudget(10_000)).namespaces.size;
  };
  expect([some('true()'), some('false()'), some("name() = 'q'"), some("name() = 'p'"), some("name() != 'q'")]).toEqual([0, 0, 1, 2, 1]);
});

it('the namespace that prevents a form is named, and not one that is taken back', () => {
  using document = parse('<a xmlns="urn:a"><b xmlns=""/><c xmlns:p="relative" xmlns:q="other"/></a>');
  expect(() => document.canonical({ algorithm: 'C14N' })).toThrow('the namespace "relative" is not an absolute URI');
});

it('elements that were left out of a form are found from both sides afterwards', () => {
  using document = parse('<r><a><b/><c/><d/></a><z/></r>');
  const select = (expression: string): string[] =>
    selectElements({ expression, namespaces: {} }, document, new StepBudget(10_000), 9).map((one) => document.localName(one));
  for (const name of ['b', 'c', 'd', 'a', 'z']) {
    const without = [...document.elements()].filter((one) => document.localName(one) === name);
    document.canonical({ algorithm: 'C14N', without });
    expect(select('//z/preceding::*')).toEqual(['a', 'b', 'c', 'd']);
    expect(select('//d/preceding-sibling::* | //b/following-sibling::*')).toEqual(['b', 'c', 'd']);
  }
});

it('the form of a subtree follows the rules of its algorithm', () => {
  using document = parse(
    '<a xmlns="urn:d" xmlns:p="urn:p" xml:lang="en" xml:id="x" xml:base="b/"><b xml:lang="fr"><c z="1" p:y="2" xml:base="c"><!--1--></c></b></a>',
  );
  const [, , apex] = document.elements();
  const form = (algorithm: Canonicalisation, inclusivePrefixes?: string[]): string =>
    document.canonical({ algorithm, apex, inclusivePrefixes }).toString();
  const oldest = '<c xmlns="urn:d" xmlns:p="urn:p" z="1" xml:base="c" xml:id="x" xml:lang="fr" p:y="2">';
  expect([form('C14N'), form('C14N_WITH_COMMENTS')]).toEqual([`${oldest}</c>`, `${oldest}<!--1--></c>`]);
  const newer = '<c xmlns="urn:d" xmlns:p="urn:p" z="1" xml:base="b/c" xml:lang="fr" p:y="2">';
  expect([form('C14N_11'), form('C14N_11_WITH_COMMENTS')]).toEqual([`${newer}</c>`, `${newer}<!--1--></c>`]);
  const exclusive = '<c xmlns="urn:d" xmlns:p="urn:p" z="1" xml:base="c" p:y="2">';
  expect([form('EXC_C14N'), form('EXC_C14N_WITH_COMMENTS')]).toEqual([`${exclusive}</c>`, `${exclusive}<!--1--></c>`]);
  // Only exclusive canonicalisation has a list of prefixes.
  using listed = parse('<a xmlns:q="urn:q"><b xmlns:q="urn:q"/></a>');
  const [, within] = listed.elements();
  const listedForm = (algorithm: Canonicalisation, inclusivePrefixes?: string[]): string =>
    listed.canonical({ algorithm, apex: within, inclusivePrefixes }).toString();
  expect([listedForm('EXC_C14N'), listedForm('EXC_C14N', []), listedForm('EXC_C14N', ['q']), listedForm('EXC_C14N', ['p'])]).toEqual([
    ...['<b></b>', '<b></b>', '<b xmlns:q="urn:q"></b>', '<b></b>'],
  ]);
  expect([listedForm('C14N'), listedForm('C14N', ['p'])]).toEqual(['<b xmlns:q="urn:q"></b>', '<b xmlns:q="urn:q"></b>']);
});

it('what a form is written to may fail, and its error is not one of the document', () => {
  using document = parse('<a/>');
  expect(() => {
    document.canonicalise({ algorithm: 'C14N' }, () => {
      throw new RangeError('the disk is full');
    });
  }).toThrow(new RangeError('the disk is full'));
  expect(document.canonical({ algorithm: 'C14N' }).toString()).toBe('<a></a>');
});

it('an element of another document has no position', () => {
  using document = parse('<a><b/></a>');
  expect(() => document.indexOf(0 as XmlNode)).toThrow(RangeError);
});

it('a fault has the place that the engine tells, if it tells one', () => {
  const fault = (line: number, column: number): unknown[] => {
    const made = parseFault({ code: 1, message: 'wrong', line, column });
    return [made.message, made.line, made.column];
  };
  expect(fault(2, 3)).toEqual(['the document is not well-formed XML: wrong (line 2, column 3)', 2, 3]);
  expect(fault(1, 0)).toEqual(['the document is not well-formed XML: wrong (line 1, column 1)', 1, 1]);
  expect(fault(0, 3)).toEqual(['the document is not well-formed XML: wrong', undefined, undefined]);
  expect(parseFault(undefined).message).toBe('the document cannot be read');
});

it('the lines of elements are told up to 65,535', () => {
  using document = parse(`${'\n'.repeat(65_533)}<a>\n<b/>\n<c/></a>`);
  expect([...document.elements()].map((one) => document.line(one))).toEqual([65_534, 65_535, 65_535]);
});

it('an engine whose memory has grown beyond 128 MiB is replaced when a document is released', async () => {
  const before = engine();
  const released = (): void => {
    using document = parse('<a/>');
    expect(document.engine).toBe(engine());
  };
  released();
  before.withBytes(new Uint8Array(129 * 1024 * 1024), () => undefined);
  expect(before.library.HEAPU8.length).toBeGreaterThan(128 * 1024 * 1024);
  expect(engine()).toBe(before);
  released();
  await expect.poll(() => engine() === before).toBe(false);
  expect(engine().library.HEAPU8.length).toBeLessThan(128 * 1024 * 1024);
  released();
});
