import { describe, expect, test } from 'vitest';
import { elementPlace, scanDocument } from '../../src/xml/scanner.ts';

const limits = { depthMax: 10, attributesMax: 5, nodesMax: 40 };

/** Returns what stands at the places of an element. */
function slices(xml: string, index: number): { start: string; end: string; content: string; ancestors: string[] } {
  const bytes = Buffer.from(xml);
  const { startTagStart, startTagEnd, endTagStart, endTagEnd, isEmptyTag, ancestors } = elementPlace(bytes, index);
  if (isEmptyTag) expect([endTagStart, endTagEnd]).toEqual([startTagStart, startTagEnd]);
  return {
    start: bytes.toString('utf8', startTagStart, startTagEnd),
    end: bytes.toString('utf8', endTagStart, endTagEnd),
    content: bytes.toString('utf8', startTagEnd, endTagStart),
    ancestors: ancestors.map((tag) => bytes.toString('utf8', tag.startTagStart, tag.startTagEnd)),
  };
}

describe('the place of an element', () => {
  const odd = [
    '\u{feff}<?xml version="1.0"?><!-- <no> --><?pi <no/> ?>\r\n',
    '<é a=">" b=\'"/>\' >',
    '<!--<no>--><![CDATA[<no></no>]] ><no/>]]]>',
    '<x/><y b="/"></y><z c = "\'>" /><é><?pi > </é> ?>é<é></é ></é>',
    '</é\n><!-- </é> -->',
  ].join('');

  test.each([
    [0, `<é a=">" b='"/>' >`, '</é\n>', []],
    [1, '<x/>', '<x/>', [`<é a=">" b='"/>' >`]],
    [2, '<y b="/">', '</y>', [`<é a=">" b='"/>' >`]],
    [3, '<z c = "\'>" />', '<z c = "\'>" />', [`<é a=">" b='"/>' >`]],
    [4, '<é>', '</é>', [`<é a=">" b='"/>' >`]],
    [5, '<é>', '</é >', [`<é a=">" b='"/>' >`, '<é>']],
  ])('%i is found among comments, instructions, sections and quotes', (index, start, end, ancestors) => {
    expect(slices(odd, index)).toMatchObject({ start, end, ancestors });
  });

  test('the content is what stands between the tags', () => {
    expect(slices(odd, 4).content).toBe('<?pi > </é> ?>é<é></é >');
  });

  test('an element that is not there is refused', () => {
    expect(() => elementPlace(Buffer.from('<a/>\n'), 1)).toThrow('no element 1 (line 2, column 1)');
    expect(() => elementPlace(Buffer.from('<a>\n <b>'), 1)).toThrow('the element does not end (line 2, column 2)');
  });
});

describe('a scan', () => {
  test('returns the number of elements, and the tags of the root', () => {
    expect(scanDocument(Buffer.from('\u{feff}<a><b c="d"/></a>\n'), limits)).toEqual({
      elements: 2,
      root: { startTagStart: 3, startTagEnd: 6, endTagStart: 16, endTagEnd: 20, isEmptyTag: false },
    });
  });

  test('returns no tags of a root that does not end, and those of the first one', () => {
    const rootOf = (xml: string): unknown => scanDocument(Buffer.from(xml), limits).root;
    for (const xml of ['<a>', '<a><b></b>', '<a></a', '<a><b/>', '<a', '<a/']) expect(rootOf(xml)).toBeUndefined();
    const first = { startTagStart: 0, startTagEnd: 3, endTagStart: 3, endTagEnd: 7, isEmptyTag: false };
    for (const rest of ['', '</b>', '<b></b>', '<b/>', '<b>', '<!-- -->']) expect(rootOf(`<a></a>${rest}`)).toEqual(first);
    expect(rootOf('<a/><b/>')).toEqual({ startTagStart: 0, startTagEnd: 4, endTagStart: 0, endTagEnd: 4, isEmptyTag: true });
    expect(rootOf('</x><a></a>')).toEqual({ startTagStart: 4, startTagEnd: 7, endTagStart: 7, endTagEnd: 11, isEmptyTag: false });
  });

  test.each(['', ' ', '\u{feff}', 'text', '<', '<!', '<!-', '<?', '<!-- <a>', '<![CDATA[<a>', '<?p <a>', '</a>', '<!ELEMENT a ANY>'])(
    'finds no root in %j, and leaves it to the parser',
    (xml) => {
      expect(scanDocument(Buffer.from(xml), limits)).toEqual({ elements: 0, root: undefined });
    },
  );

  test.each(['<a>', '<a', '<a b="', '<a></a', '<a></b></c><d', '</a><a>'])('leaves %j, which is not well formed, to the parser', (xml) => {
    expect(scanDocument(Buffer.from(xml), limits).elements).toBeGreaterThan(0);
  });

  test.each([
    ['<!DOCTYPE a><a/>', 1, 1],
    ['\u{feff}<?xml version="1.0"?>\r\n<!-- é -->\r <!DOCTYPE a SYSTEM "x"><a/>', 3, 2],
    ['x <!DOCTYPE', 1, 3],
  ])('refuses the DOCTYPE of %j', (xml, line, column) => {
    expect(() => scanDocument(Buffer.from(xml), limits)).toThrow('DOCTYPE is not allowed');
    expect(() => scanDocument(Buffer.from(xml), limits)).toThrow(expect.objectContaining({ line, column }));
  });

  test('leaves a DOCTYPE behind the start of the root to the parser', () => {
    for (const xml of ['<a><!DOCTYPE a><b/></a>', '<a><b/></a><!DOCTYPE a>']) {
      expect(scanDocument(Buffer.from(xml), limits).elements).toBe(2);
      expect(slices(xml, 1)).toMatchObject({ start: '<b/>', ancestors: ['<a>'] });
    }
  });

  test('takes DOCTYPE for text in comments, sections, values and instructions', () => {
    const xml = '<!-- <!DOCTYPE a> --><?p <!DOCTYPE a>?><a b="<!DOCTYPE a>"><![CDATA[<!DOCTYPE a>]]></a><!-- <!DOCTYPE a> -->';
    expect(scanDocument(Buffer.from(xml), limits).elements).toBe(1);
  });

  const nested = (depth: number): string => '<a>\n'.repeat(depth) + '</a>'.repeat(depth);

  test('refuses elements that are nested too deeply', () => {
    expect(scanDocument(Buffer.from(nested(10)), limits).elements).toBe(10);
    expect(() => scanDocument(Buffer.from(nested(11)), limits)).toThrow(expect.objectContaining({ line: 11, column: 1 }));
    expect(() => scanDocument(Buffer.from(nested(9) + '<a><é/>'), limits)).not.toThrow();
    expect(() => scanDocument(Buffer.from('<a>'.repeat(10) + 'é\u{1f600}<b/>'), limits)).toThrow(
      expect.objectContaining({ line: 1, column: 33 }),
    );
  });

  test('refuses an element with too many attributes, declarations included', () => {
    const attributes = Array.from({ length: 5 }, (_, index) => ` xmlns:p${index}='"urn>'`).join('');
    expect(scanDocument(Buffer.from(`<a${attributes}/>`), limits).elements).toBe(1);
    expect(() => scanDocument(Buffer.from(`<a\n><b${attributes} c=""/></a>`), limits)).toThrow(
      expect.objectContaining({ line: 2, column: 2 }),
    );
  });

  test('refuses too many elements and attributes together', () => {
    const xml = (children: number): string => `<a>${'<b c="" d=""/>\n'.repeat(children)}</a>`;
    expect(scanDocument(Buffer.from(xml(13)), limits).elements).toBe(14);
    expect(() => scanDocument(Buffer.from(xml(14)), limits)).toThrow(expect.objectContaining({ line: 14, column: 1 }));
  });

  test('refuses a million attributes, also in a tag that does not end', () => {
    const attributes = Array.from({ length: 1_000_000 }, (_, index) => ` a${index}=""`).join('');
    for (const end of ['', '>', '/>'])
      expect(() => scanDocument(Buffer.from(`<a${attributes}${end}`), { ...limits, attributesMax: 999_999 })).toThrow(
        'more than 999999 attributes',
      );
  });

  test('refuses a depth of 100,000', () => {
    expect(() => scanDocument(Buffer.from(nested(100_000)), { ...limits, depthMax: 99_999, nodesMax: 1_000_000 })).toThrow(
      expect.objectContaining({ line: 100_000, column: 1 }),
    );
  });
});
