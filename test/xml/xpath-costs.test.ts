import { describe, expect, it } from 'vitest';
import { StepBudget } from '../../src/xml/step-budget.ts';
import { XmlDocument } from '../../src/xml/xml-document.ts';
import { XmlLimitFault } from '../../src/xml/xml-fault.ts';
import { checkXPath, filterNodes, selectElements, XPathTooLarge, XPathTooSlow } from '../../src/xml/xpath.ts';

const many = 100_000_000;

/** Steps that an expression takes in a document. */
function spent(expression: string, text: string, isOwn: boolean): number {
  using document = XmlDocument.parse(Buffer.from(text));
  const budget = new StepBudget(many);
  selectElements({ expression: `/a[${expression}]`, namespaces: {}, isOwn }, document, budget);
  return many - budget.left;
}

/** What an expression is charged in one document beyond what it is charged in another. */
const charged = (expression: string, text: string, other: string): number =>
  [text, other].map((one) => spent(expression, one, false) - spent(expression, one, true)).reduce((more, less) => more - less);

describe('a charge is', () => {
  const octets = (count: number): string => `<a>${'x'.repeat(count)}</a>`;

  it.each([
    // Eight octets are read in a step.
    ['string-length(.)', 400],
    ['string-length()', 400],
    ['lang(.)', 400],
    // The text that is made is read again.
    ['string-length(concat(., "a"))', 800],
    ['string-length(string(.))', 800],
    ['. = "abcd"', 400],
    ['sum(//*) = 1', 400],
    // Each octet is compared with two others, 32 in a step, and both texts are read once more.
    ['contains(., "zz")', 400 + 200 + 400],
    ['substring-before(., "zz")', 400 + 200 + 400],
    ['contains("zz", .)', 200 + 400],
    ['starts-with(., "zz")', 400],
    // Five steps, and one for four characters to be replaced.
    ['translate(., "abcd", "")', 400 + 3200 * 6 + 400],
    ['translate(., "abcdefgh", .)', 400 + 3200 * 7 + 400 + 400],
    // Two texts, 32 octets in a step.
    ['. = .', 400 + 200 + 800],
    ['. < .', 400 + 200 + 800],
    ['. + .', 800],
    ['. * 2', 400],
    ['"x"', 0],
  ])('that of the octets that are read and worked on: %s', (expression, steps) => {
    expect(charged(expression, octets(6400), octets(3200))).toBe(steps);
  });

  it.each([
    ['f = f', 900],
    ['f != f', 900],
    ['f >= f', 900],
    ['count(f | f) > 0', 168.75],
    ['count(f) > 0', 0],
  ])('that of the pairs of nodes: %s', (expression, steps) => {
    const nodes = (count: number): string => `<a>${'<f/>'.repeat(count)}</a>`;
    expect(charged(expression, nodes(60), nodes(30))).toBeCloseTo(steps, -0.5);
  });

  it('two steps for each node within another, at any depth, and the octets of all of them', () => {
    const within = (count: number): string => `<a>${'<b><c/>12345678<d>12345678</d><!-- 12345678 --></b>'.repeat(count)}</a>`;
    // Five nodes and two texts, and the comment.
    expect(charged('string-length(.)', within(20), within(10))).toBe(10 * (6 * 2 + 2));
  });

  it.each([
    ['string-length(*)', 1],
    ['sum(*) = 1', 3],
    ['id(*)', 3],
    ['number(*) = 1', 1],
    ['* = 1', 3],
    ['* + 1', 1],
    ['@* = 1', 0],
    ['//namespace::* = 1', 0],
  ])('that of one text, or of all of them: %s', (expression, texts) => {
    const of = (text: string): string => `<a>${`<f>${text}</f>`.repeat(3)}</a>`;
    expect(charged(expression, of('1'.repeat(1600)), of('1'.repeat(800)))).toBe(100 * texts);
  });

  it('that of attributes, of namespaces and of nodes that are texts themselves', () => {
    const [long, short] = ['y'.repeat(1600), 'y'.repeat(800)];
    const of = (text: string): string => `<a y="${text}" xmlns:p="urn:${text}">${text}<!--${text}--><?p ${text}?></a>`;
    for (const expression of ['@y = 1', 'text() = 1', 'comment() = 1', 'processing-instruction() = 1', 'namespace::p = 1'])
      expect([expression, charged(expression, of(long), of(short))]).toEqual([expression, 100]);
  });
});

it('a filter is charged as often as it is evaluated, and our own expressions are not charged', () => {
  const filtered = (text: string): number => {
    using document = XmlDocument.parse(Buffer.from(text));
    const budget = new StepBudget(many);
    filterNodes({ expression: 'string-length(/) > 1', namespaces: {} }, document, budget);
    return many - budget.left;
  };
  // For the document, the element, its text and its one namespace, xml.
  expect(filtered(`<a>${'x'.repeat(1600)}</a>`) - filtered(`<a>${'x'.repeat(800)}</a>`)).toBe(4 * 100);
  expect(spent('contains(., "zz")', `<a>${'x'.repeat(1600)}</a>`, true)).toBe(spent('contains(., "zz")', '<a>x</a>', true));
});

it.each(['sum()', 'id()', 'lang()', 'floor()', 'concat()', 'contains()', 'translate()', 'starts-with()', 'contains(.)'])(
  'a function lacks its arguments, and is given none: %s',
  (call) => {
    expect(() => spent(`${call} or true()`, '<a>1</a>', false)).toThrow(/cannot be evaluated: .*[Ii]nvalid/);
  },
);

it('an expression is refused where its last charge leaves nothing', () => {
  const expression = 'contains("abcdefgh", .)';
  const text = `<a>${'x'.repeat(80)}</a>`;
  const steps = spent(expression, text, false);
  const within = (stepsMax: number): number => {
    using document = XmlDocument.parse(Buffer.from(text));
    const budget = new StepBudget(stepsMax);
    try {
      selectElements({ expression: `/a[${expression}]`, namespaces: {} }, document, budget);
    } finally {
      expect(budget.left).toBe(Math.max(0, stepsMax - steps));
    }
    return budget.left;
  };
  expect(within(steps + 1)).toBe(1);
  expect(() => within(steps)).toThrow(XPathTooSlow);
  expect(() => within(steps)).toThrow(`takes more than ${steps} steps in this document`);
});

it('a budget of steps has four octets for each, and ends where none is left', () => {
  const budget = new StepBudget(100);
  budget.spendOctets(396);
  expect([budget.left, budget.max]).toEqual([1, 100]);
  budget.spendOctets(2);
  budget.check();
  budget.spendOctets(2);
  expect(() => {
    budget.check();
  }).toThrow(XmlLimitFault);
  expect(() => {
    budget.check();
  }).toThrow('takes more than 100 steps');
  budget.spend(1);
  expect(budget.left).toBe(0);
});

it.each<[string, (count: number) => string]>([
  ...['+', '-', '*', '=', '<', '>', '|', '/', 'and', 'or', 'div', 'mod'].map((one): [string, (count: number) => string] => [
    one,
    (count) => `a${` ${one} a`.repeat(count)}`,
  ]),
  [',', (count) => `concat(1${',1'.repeat(count)})`],
  ['[', (count) => `a${'[1]'.repeat(count)}`],
  ['1or1', (count) => `1${'or1'.repeat(count)}`],
])('the operators of an expression are counted: %s', (_operator, of) => {
  expect(() => {
    checkXPath({ expression: of(250) });
  }).not.toThrow();
  expect(() => {
    checkXPath({ expression: of(251) });
  }).toThrow(XPathTooLarge);
});
