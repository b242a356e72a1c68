import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalisations } from '../../src/xml/canonicalisation.ts';
import { elementPlace, scanDocument } from '../../src/xml/scanner.ts';
import { XmlFault } from '../../src/xml/xml-fault.ts';
import { repetitions } from '../support/repetitions.ts';
import { canonicalForm, canonicalForms } from './canonical-form.ts';
import { mutatedDocument } from './mutated-document.ts';
import { randomDocument } from './random-document.ts';

const without = [{ namespace: 'urn:a', localName: 'a' }];
const limits = { depthMax: 1_000, attributesMax: 1_000, nodesMax: 100_000 };

/** Forms of a document, and of the element in its middle. */
function formsOf(pieces: readonly Uint8Array[], elements: number): string[] {
  return canonicalForms(
    pieces,
    canonicalisations.flatMap((algorithm) => [
      { apex: undefined, algorithm, without },
      { apex: Math.floor(elements / 2), algorithm, inclusivePrefixes: ['p', '#default'] },
    ]),
  );
}

/** Cuts bytes at offsets, which are taken modulo the length. */
function cut(bytes: Uint8Array, offsets: readonly number[]): Uint8Array[] {
  const places = [0, ...offsets.map((offset) => offset % (bytes.length + 1)).toSorted((one, other) => one - other), bytes.length];
  return places.slice(1).map((end, index) => bytes.subarray(places[index], end));
}

/**
 * Returns the fault that reading bytes ends with, undefined if there is none. Any other error is
 * thrown.
 */
function faultOf(read: () => unknown): XmlFault | undefined {
  try {
    read();
    return undefined;
  } catch (error) {
    if (error instanceof XmlFault) return error;
    throw error;
  }
}

test('the forms are the same wherever the document is cut', () => {
  fc.assert(
    fc.property(randomDocument, fc.array(fc.nat(), { maxLength: 8 }), ({ xml, elements }, offsets) => {
      const bytes = Buffer.from(xml);
      const forms = formsOf([bytes], elements);
      expect(formsOf(cut(bytes, offsets), elements)).toEqual(forms);
      expect(
        formsOf(
          Array.from(bytes, (byte) => Uint8Array.of(byte)),
          elements,
        ),
      ).toEqual(forms);
    }),
    { numRuns: repetitions(3_000, 200) },
  );
});

test('parts that are written together have the same forms as alone', () => {
  const part = fc.record({
    apex: fc.option(fc.nat(5), { nil: undefined }),
    algorithm: fc.constantFrom(...canonicalisations),
    inclusivePrefixes: fc.subarray(['p', 'q', '#default']),
    without: fc.subarray([
      { namespace: 'urn:a', localName: 'a' },
      { namespace: undefined, localName: 'a' },
      { namespace: undefined, localName: 'b' },
    ]),
    leavesOutComments: fc.boolean(),
  });
  fc.assert(
    fc.property(randomDocument, fc.array(part, { minLength: 2, maxLength: 6 }), ({ xml }, parts) => {
      expect(canonicalForms(xml, parts)).toEqual(parts.map((one) => canonicalForm(xml, one)));
    }),
    { numRuns: repetitions(3_000, 200) },
  );
});

test('tokens longer than a window, and pieces of all sizes, do not change the forms', () => {
  const long = '\u{1f600}x\r\n'.repeat(30_000);
  const bytes = Buffer.from(
    `<a b="${long}"><!--${long}--><?p ${long}?><![CDATA[${long}]]>${long}&#${'0'.repeat(200_000)}65;<b${' '.repeat(100_000)}/></a>`,
  );
  const forms = formsOf([bytes], 2);
  const text = '\u{1f600}x\n'.repeat(30_000);
  expect(forms[0]).toBe(`<a b="${text.replaceAll('\n', ' ')}"><?p ${text}?>${text}${text}A<b></b></a>`);
  for (const size of [1, 7, 1_000, 65_535, 65_536, 65_537, 200_000])
    expect(
      formsOf(
        Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) => bytes.subarray(index * size, (index + 1) * size)),
        2,
      ),
    ).toEqual(forms);
});

test('the scanner finds the elements of random documents', () => {
  fc.assert(
    fc.property(randomDocument, ({ xml, elements, identified }) => {
      const bytes = Buffer.from(xml);
      const outline = scanDocument(bytes, limits);
      expect(outline.elements).toBe(elements);
      const { ancestors, ...root } = elementPlace(bytes, 0);
      expect(ancestors).toEqual([]);
      expect(outline.root).toEqual(root);
      for (const index of identified) {
        const { startTagStart, startTagEnd, endTagEnd } = elementPlace(bytes, index);
        expect(bytes.toString('utf8', startTagStart, startTagEnd)).toContain(`xml:id="i${index}"`);
        expect(bytes.toString('utf8', startTagStart, endTagEnd)).toMatch(/^<.*>$/s);
      }
    }),
    { numRuns: repetitions(3_000, 200) },
  );
});

test('bytes that are not well formed end with a fault, wherever they are cut', () => {
  fc.assert(
    fc.property(mutatedDocument, fc.array(fc.nat(), { maxLength: 4 }), (bytes, offsets) => {
      const fault = faultOf(() => formsOf([bytes], 2));
      const faultOfPieces = faultOf(() => formsOf(cut(bytes, offsets), 2));
      expect([faultOfPieces?.message, faultOfPieces?.line, faultOfPieces?.column]).toEqual([fault?.message, fault?.line, fault?.column]);
      faultOf(() => scanDocument(bytes, limits));
      faultOf(() => elementPlace(bytes, 2));
    }),
    { numRuns: repetitions(20_000, 1_000) },
  );
});

test('any bytes end with a fault or are read', () => {
  const characters = [
    '<',
    '>',
    '/',
    '!',
    '?',
    '-',
    '[',
    ']',
    'CDATA',
    '"',
    "'",
    '=',
    '&',
    ' ',
    'a',
    'x',
    ':',
    ';',
    '#',
    '\r',
    '\n',
    '\0',
    'é',
  ];
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc.array(fc.constantFrom(...characters), { maxLength: 60 }).map((pieces) => Buffer.from(pieces.join(''))),
  );
  fc.assert(
    fc.property(bytes, (read) => {
      faultOf(() => formsOf([read], 2));
      faultOf(() => scanDocument(read, limits));
      faultOf(() => elementPlace(read, 1));
    }),
    { numRuns: repetitions(50_000, 2_000) },
  );
});

test.each([
  ['open tags', '<a>'],
  ['starts of tags', '<'],
  ['starts of comments', '<!--'],
  ['starts of sections', '<![CDATA['],
  ['starts of instructions', '<?p '],
  ['a tag that does not end', '<a b="'],
  ['attributes', ' a="1"'],
  ['references', '&'],
  ['brackets', ']'],
])('a megabyte of %s takes linear time', (_name, text) => {
  const bytes = Buffer.from(`<r>${text.repeat(Math.ceil(1_000_000 / text.length))}`);
  const pieces = Array.from({ length: 1_000 }, (_, index) => bytes.subarray(index * 1_001, (index + 1) * 1_001));
  expect(faultOf(() => formsOf(pieces, 2))).toBeInstanceOf(XmlFault);
  faultOf(() => scanDocument(bytes, limits));
  faultOf(() => elementPlace(bytes, 1));
});
