import { describe, expect, it } from 'vitest';
import { StepBudget } from '../../src/xml/step-budget.ts';
import { XmlDocument } from '../../src/xml/xml-document.ts';
import { checkXPath, filterNodes, selectElements, XPathInvalid, XPathTooLarge } from '../../src/xml/xpath.ts';

const parse = (text: string): XmlDocument => XmlDocument.parse(Buffer.from(text));
/** What an expression may take. */
const steps = (): StepBudget => new StepBudget(1_000_000);

describe('an expression', () => {
  it.each([
    ['operators', (count: number) => `1${'+1'.repeat(count)}`, 250, 'at most 250 operators'],
    ['unions', (count: number) => `a${'|a'.repeat(count)}`, 250, 'at most 250 operators'],
    ['words', (count: number) => `1${' div 1'.repeat(count)}`, 250, 'at most 250 operators'],
    ['brackets', (count: number) => `${'('.repeat(count)}1${')'.repeat(count)}`, 64, 'at most 64 brackets'],
    ['predicates within each other', (count: number) => `a${'[b'.repeat(count)}${']'.repeat(count)}`, 64, 'at most 64 brackets'],
    ['characters', (count: number) => `'${'x'.repeat(count - 2)}'`, 4096, 'at most 4096 characters'],
  ])('has so many %s, and not one more', (_what, of, max, message) => {
    expect(() => {
      checkXPath({ expression: of(max) });
    }).not.toThrow();
    expect(() => {
      checkXPath({ expression: of(max + 1) });
    }).toThrow(message);
    expect(() => {
      checkXPath({ expression: of(max + 1) });
    }).toThrow(XPathTooLarge);
  });

  it('has as many brackets as it likes one after the other, and operators in literals and names', () => {
    for (const expression of [
      `concat('', ${Array.from({ length: 200 }, () => '(1)').join(', ')})`,
      `'${'+'.repeat(1000)}'`,
      `"${"and or ' ".repeat(300)}"`,
      `${'and-or-div-'.repeat(300)}x`,
    ])
      expect(() => {
        checkXPath({ expression });
      }).not.toThrow();
  });

  it.each(['a) or (b', '1) + (1', 'a]', ') and ('])('that ends too early is not valid: %s', (expression) => {
    expect(() => {
      checkXPath({ expression });
    }).toThrow(XPathInvalid);
  });

  it('is not valid in a document either, whose prefixes it has', () => {
    using document = parse('<p:a xmlns:p="urn:x:p"><p:b/></p:a>');
    const namespaces = { q: 'urn:x:p' };
    expect(selectElements({ expression: '//q:b', namespaces }, document, steps())).toHaveLength(1);
    expect(() => selectElements({ expression: '//p:b', namespaces }, document, steps())).toThrow('Undefined namespace prefix');
    expect(() => selectElements({ expression: `1${'+1'.repeat(251)}`, namespaces }, document, steps())).toThrow(XPathTooLarge);
  });
});

describe('elements that an expression selects', () => {
  it('are the first ones, as many as are asked for', () => {
    using document = parse('<a><b/><c/><b/><b/></a>');
    const places = (max?: number): number[] =>
      selectElements({ expression: '//b', namespaces: {} }, document, steps(), max).map((one) => document.indexOf(one));
    expect([places(), places(2), places(9)]).toEqual([[1], [1, 3], [1, 3, 4]]);
  });
});

describe('a filter', () => {
  const xml = '<a xmlns:p="urn:x:p" xmlns:q="urn:x:q"><b xmlns="urn:x:d" q:c="1"/>t</a>';
  const form = (...expressions: string[]): string => {
    using document = parse(xml);
    const nodes = expressions.map((expression) => filterNodes({ expression, namespaces: {} }, document, steps()));
    return document.canonical({ algorithm: 'C14N', nodes }).toString();
  };

  it('has those namespaces of an element for which it is true', () => {
    const isNamespace = '(count(self::node() | ../namespace::*) = count(../namespace::*))';
    expect(form(`not(${isNamespace}) or name() = 'p'`)).toBe('<a xmlns:p="urn:x:p"><b q:c="1"></b>t</a>');
    expect(form(`not(${isNamespace}) or name() = ''`)).toBe('<a><b xmlns="urn:x:d" q:c="1"></b>t</a>');
    expect(form(`not(${isNamespace})`)).toBe('<a><b q:c="1"></b>t</a>');
  });

  it('leaves what other filters leave', () => {
    expect(form('true()', 'not(self::text())')).toBe('<a xmlns:p="urn:x:p" xmlns:q="urn:x:q"><b xmlns="urn:x:d" q:c="1"></b></a>');
    expect(form('not(self::text())', 'self::text()')).toBe('');
  });

  it('says whether it has any node', () => {
    using document = parse(xml);
    const isEmpty = (expression: string): boolean => filterNodes({ expression, namespaces: {} }, document, steps()).isEmpty;
    expect([isEmpty('false()'), isEmpty('true()'), isEmpty('self::text()')]).toEqual([true, false, false]);
    expect(isEmpty("name() = 'q:c'")).toBe(false);
    expect(isEmpty("count(self::node() | ../namespace::*) = count(../namespace::*) and name() = 'p'")).toBe(false);
  });

  it('may leave out the namespaces of as many elements as it likes', () => {
    using document = parse(`<a>${'<b/>'.repeat(100_001)}</a>`);
    const { namespaces, isEmpty } = filterNodes({ expression: 'self::*', namespaces: {} }, document, new StepBudget(100_000_000));
    expect([namespaces.size, isEmpty]).toEqual([0, false]);
  });
});
