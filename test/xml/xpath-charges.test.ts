import { describe, expect, it } from 'vitest';
import { StepBudget } from '../../src/xml/step-budget.ts';
import { XmlDocument } from '../../src/xml/xml-document.ts';
import { filterNodes, selectElements, XPathTooSlow } from '../../src/xml/xpath.ts';

const long = 'abcdefghij'.repeat(1000);
const parse = (text: string): XmlDocument => XmlDocument.parse(Buffer.from(text));
const deep = `<a x="1"><b y="${long}">${long}</b><c><d>${long}</d><!-- e --></c>${'<f>1</f>'.repeat(100)}</a>`;

/** Steps that an expression takes in a document. */
function stepsOf(expression: string, text: string): number {
  using document = parse(text);
  const budget = new StepBudget(100_000_000);
  selectElements({ expression: `/a[${expression}]`, namespaces: {} }, document, budget);
  return 100_000_000 - budget.left;
}

/** The same document with short texts. */
const shallow = deep.replaceAll(long, 'abc');

describe('XPath pays for', () => {
  it.each([
    'string-length(string(/))',
    'string-length(.)',
    'string-length()',
    'string-length(concat("a", /, "b"))',
    'normalize-space()',
    'contains(., "zz")',
    'contains("zz", .)',
    'starts-with(., .)',
    'substring-before(., "zz")',
    'substring-after(., "zz")',
    'substring(., 2, 3)',
    'translate(., "a", "b")',
    'translate("a", ., "b")',
    'number()',
    'number(b)',
    'sum(*) = 1',
    'id(.)',
    'round(.)',
    '. = "a"',
    '"a" = .',
    'b != c',
    'b < 1',
    '1 >= //text()',
    'b + 1',
    '1 - b',
    'b * c',
    '-b',
    'b/@y = 1',
    'count(*[string-length(.) > 1]) = 9',
    'boolean(*[. = "a"])',
    '(b | c)[contains(., "zz")]',
    'string-length(string(string(string(/)))) > 1',
  ])('the texts that it reads: %s', (expression) => {
    // A step reads eight octets at most.
    expect(stepsOf(expression, deep) - stepsOf(expression, shallow)).toBeGreaterThan(long.length / 8 - 10);
  });

  it.each([
    ['translate(b, c, "")', 100],
    ['contains(b, c)', 100],
    ['substring-after(b, c)', 100],
    ['translate(b, "0123456789", "")', 2],
  ])('what it does with them, which may be more than to read them: %s', (expression, times) => {
    expect(stepsOf(expression, deep)).toBeGreaterThan(times * long.length);
  });

  it.each(['f = c', 'f > f', 'count(f | f) > 1000'])('each pair of nodes that it compares: %s', (expression) => {
    expect(stepsOf(expression, deep)).toBeGreaterThan(100 * 100 * 0.05);
  });

  it.each(['count(//*) > 0', 'not(self::b)', '@x or b', 'name() = "a"', 'position() = last()', 'true()'])(
    'no text otherwise: %s',
    (expression) => {
      expect(stepsOf(expression, deep)).toBe(stepsOf(expression, shallow));
    },
  );

  it('what it takes in all, out of one budget', () => {
    using document = parse(deep);
    const budget = new StepBudget(20_000);
    const select = (): unknown => selectElements({ expression: '/a[contains(., "zz")]', namespaces: {} }, document, budget);
    expect(select()).toEqual([]);
    expect(budget.left).toBeLessThan(20_000);
    expect(() => {
      for (let count = 0; count < 20; count += 1) select();
    }).toThrow(XPathTooSlow);
    expect(budget.left).toBe(0);
    expect(() => filterNodes({ expression: 'true()', namespaces: {} }, document, budget)).toThrow(XPathTooSlow);
  });

  it('more than there is: the function is not called, and the engine goes on', () => {
    using document = parse(deep);
    for (const expression of ['translate(/, /, "")', 'contains(/, /)', '//* = //*', 'count(//* | //*) > 0', '- /', 'string-length()'])
      expect(() => filterNodes({ expression, namespaces: {} }, document, new StepBudget(1000))).toThrow(XPathTooSlow);
    expect(selectElements({ expression: '//d', namespaces: {} }, document, new StepBudget(1000)).length).toBe(1);
  });
});

describe('XPath that pays', () => {
  it.each([
    'string-length() > 3',
    'string() = "1"',
    'normalize-space() != "abc"',
    'number() = 1',
    'string-length(.) = string-length(string(.))',
    'contains(., "bc") and not(contains(/, "zz"))',
    'translate(., "abc", "ABC") = "ABC"',
    'translate(., /, "") = ""',
    'substring(., 2, 1) = "b" or substring-before(., "b") = "a" or substring-after(., "b") = "c"',
    'starts-with(., "a")',
    'concat(., "x", ..) = "abcxabc"',
    'sum(//f) = 100',
    '. = //b | //c',
    '//b = //d',
    '//f < 2',
    '-1 < -.',
    '. + 1 = 2',
    '. * 2 mod 3 = 2',
    'id("q") or lang("en")',
    'count(//f | //b | //@*) = 103',
    '../*[. = "1"][2]',
    '(//f)[3] = .',
    'ancestor-or-self::*[contains(@x, "1")]',
    'floor(.) = ceiling(.)',
    'namespace::* = "urn:n"',
    '@* = "1"',
  ])('selects the same: %s', (expression) => {
    using document = parse(shallow.replace('<c>', '<c xmlns:n="urn:n">'));
    const form = (isOwn: boolean): string => {
      const filter = { expression: `//node()[${expression}] | //@*[${expression}]/..`, namespaces: {}, isOwn };
      return JSON.stringify(selectElements(filter, document, new StepBudget(100_000_000), Infinity));
    };
    expect(form(false)).toBe(form(true));
  });
});
