import { expect, test } from 'vitest';
import { checkNamespaceLoad } from '../../src/xml/namespace-load.ts';
import { XmlDocument } from '../../src/xml/xml-document.ts';

const declarations = (count: number, prefix: string): string =>
  Array.from({ length: count }, (_, index) => ` xmlns:${prefix}${index}="urn:n:${index}"`).join('');
const isRefused = (text: string, algorithm: 'C14N' | 'C14N_11_WITH_COMMENTS' | 'EXC_C14N' = 'C14N'): boolean => {
  using document = XmlDocument.parse(Buffer.from(text));
  try {
    checkNamespaceLoad(document, ['EXC_C14N', algorithm]);
    return false;
  } catch (error) {
    expect(String(error)).toContain('too many namespaces in scope');
    return true;
  }
};

test('the squares of the namespaces in scope count, over all elements', () => {
  // 10,000 × 10,000 × 100 is the limit.
  const wide = (elements: number): string => `<a${declarations(10_000, 'n')}>${'<b/>'.repeat(elements - 1)}</a>`;
  expect([wide(100), wide(101)].map((text) => isRefused(text))).toEqual([false, true]);
  expect(isRefused(wide(101), 'C14N_11_WITH_COMMENTS')).toBe(true);
  expect(isRefused(wide(101), 'EXC_C14N')).toBe(false);
  const oneMore = `<r xmlns:z="urn:z"><a${declarations(9_999, 'n')}>${'<b/>'.repeat(99)}</a></r>`;
  expect([isRefused(oneMore), isRefused(oneMore.replace(' xmlns:z="urn:z"', ''))]).toEqual([true, false]);
});

test('declarations count in the elements below, and not behind them', () => {
  const inside = `<a${declarations(10_000, 'n')}><b${declarations(10_000, 'm')}>${'<c/>'.repeat(30)}</b></a>`;
  const behind = `<a><b${declarations(10_000, 'n')}/><b${declarations(10_000, 'm')}/>${'<c/>'.repeat(500)}</a>`;
  expect([inside, behind].map((text) => isRefused(text))).toEqual([true, false]);
});

test('many elements that each declare a few namespaces are no load', () => {
  expect(isRefused(`<a>${`<b${declarations(5, 'n')}/>`.repeat(20_000)}</a>`)).toBe(false);
});
