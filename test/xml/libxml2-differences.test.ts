import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { ParseOption, XmlC14NMode, XmlDocument, XmlElement } from 'libxml2-wasm';
import { afterAll, expect, test } from 'vitest';
import { canonicalisations, canonicalisationUris, rulesOf, type Canonicalisation } from '../../src/xml/canonicalisation.ts';
import { repetitions } from '../support/repetitions.ts';
import { canonicalForm, canonicalForms } from './canonical-form.ts';
import { randomDocument } from './random-document.ts';

const directory = mkdtempSync(join(tmpdir(), 'signetd-canonical-'));
const file = join(directory, 'document.xml');
afterAll(() => {
  rmSync(directory, { recursive: true });
});

const option = ParseOption.XML_PARSE_HUGE | ParseOption.XML_PARSE_NONET | ParseOption.XML_PARSE_NOCDATA;
const modes = { '1.0': XmlC14NMode.XML_C14N_1_0, '1.1': XmlC14NMode.XML_C14N_1_1, exclusive: XmlC14NMode.XML_C14N_EXCLUSIVE_1_0 };
const withComments = (algorithm: Canonicalisation): boolean => algorithm.endsWith('_WITH_COMMENTS');

interface Selection {
  readonly apex: number | undefined;
  readonly inclusivePrefixes: readonly string[];
  /** Names of the elements that are left out, in the namespace `urn:a` and in none. */
  readonly without: readonly { readonly namespace: string | undefined; readonly localName: string }[];
}

/** Returns the condition of XPath that an element is left out. */
function leftOut(without: Selection['without']): string {
  return (
    without.map(({ namespace = '', localName }) => `(local-name()='${localName}' and namespace-uri()='${namespace}')`).join(' or ') ||
    'false()'
  );
}

/** Returns the form that libxml2 makes of a document from which the elements are removed. */
function formOfLibxml2(xml: string, algorithm: Canonicalisation, { apex, inclusivePrefixes, without }: Selection): string {
  const document = XmlDocument.fromBuffer(Buffer.from(xml), { option });
  try {
    const top = apex === undefined ? undefined : document.find('//*')[apex];
    const condition = leftOut(without);
    if (top?.find(`ancestor-or-self::*[${condition}]`).length) return '';
    for (const element of document.find(`//*[${condition}][not(ancestor::*[${condition}])]`)) element.remove();
    const options = {
      mode: modes[rulesOf(algorithm)],
      withComments: withComments(algorithm),
      inclusiveNamespacePrefixes: [...inclusivePrefixes],
    };
    return top instanceof XmlElement ? top.canonicalizeToString(options) : document.canonicalizeToString(options);
  } finally {
    document.dispose();
  }
}

const someNames = fc.uniqueArray(
  fc.record({ namespace: fc.constantFrom('urn:a', 'urn:b', undefined), localName: fc.constantFrom('a', 'b', 'ｚ') }),
  { maxLength: 2, selector: ({ namespace, localName }) => `${namespace} ${localName}` },
);
const somePrefixes = fc.subarray(['#default', 'p', 'q', '𐐷', 'unused']);

const documentAndSelection = fc
  .tuple(randomDocument, fc.nat(), fc.boolean(), somePrefixes, someNames)
  .map(([document, choice, isWhole, inclusivePrefixes, without]) => ({
    ...document,
    selection: { apex: isWhole ? undefined : choice % document.elements, inclusivePrefixes, without },
  }))
  // libxml2 writes what stands behind a root that is left out as if it stood before it; the
  // recommendation goes by document order (1.0, 2.3).
  .filter(({ xml, selection }) => selection.apex !== undefined || !isRootLeftOut(xml, selection));

function isRootLeftOut(xml: string, { without }: Selection): boolean {
  if (without.length === 0) return false;
  const document = XmlDocument.fromBuffer(Buffer.from(xml), { option });
  const isLeftOut = document.find(`/*[${leftOut(without)}]`).length > 0;
  document.dispose();
  return isLeftOut;
}

test('random documents and subsets of them have the forms that libxml2 makes, all six in one pass', () => {
  fc.assert(
    fc.property(documentAndSelection, ({ xml, selection }) => {
      const forms = canonicalForms(
        xml,
        canonicalisations.map((algorithm) => ({ algorithm, ...selection })),
      );
      expect(forms).toEqual(canonicalisations.map((algorithm) => formOfLibxml2(xml, algorithm, selection)));
    }),
    { numRuns: repetitions(20_000, 1_000) },
  );
});

test('xmllint makes the same forms of whole documents', () => {
  const switches = { '--c14n': 'C14N_WITH_COMMENTS', '--c14n11': 'C14N_11_WITH_COMMENTS', '--exc-c14n': 'EXC_C14N_WITH_COMMENTS' } as const;
  fc.assert(
    fc.property(randomDocument, ({ xml }) => {
      writeFileSync(file, xml);
      for (const [form, algorithm] of Object.entries(switches))
        expect(canonicalForm(xml, { apex: undefined, algorithm })).toBe(
          execFileSync('xmllint', [form, file], { encoding: 'utf8', stdio: 'pipe' }),
        );
    }),
    { numRuns: repetitions(200, 10) },
  );
});

test('xmlsec1 digests the same forms of whole documents, of elements, and of subsets that XPath selects', () => {
  const dsig = 'http://www.w3.org/2000/09/xmldsig#';
  const signature = { namespace: dsig, localName: 'Signature' };
  writeFileSync(join(directory, 'secret'), 'secret');
  fc.assert(
    fc.property(
      documentAndSelection.filter(({ xml, selection }) => xml.includes('</') && !isRootLeftOut(xml, selection)),
      ({ xml, identified, selection: { without, inclusivePrefixes } }) => {
        const omitted = [signature, ...without];
        const element = identified.at(-1);
        const parts = canonicalisations.flatMap((algorithm) => [
          { uri: '#xpointer(/)', apex: undefined, algorithm, without: [signature] },
          { uri: '', apex: undefined, algorithm, without: omitted, leavesOutComments: true },
          { uri: '#xpointer(/)', apex: undefined, algorithm, without: omitted },
          ...(element === undefined ? [] : [{ uri: `#xpointer(id('i${element}'))`, apex: element, algorithm, without: omitted }]),
        ]);
        const references = parts.map(({ uri, algorithm, without: names }) => {
          const xpath = `<ds:Transform Algorithm="http://www.w3.org/TR/1999/REC-xpath-19991116"><ds:XPath>not(ancestor-or-self::*[${leftOut(names)}])</ds:XPath></ds:Transform>`;
          const list = `<i:InclusiveNamespaces xmlns:i="http://www.w3.org/2001/10/xml-exc-c14n#" PrefixList="${inclusivePrefixes.join(' ')}"/>`;
          const form = `<ds:Transform Algorithm="${canonicalisationUris[algorithm]}">${rulesOf(algorithm) === 'exclusive' ? list : ''}</ds:Transform>`;
          return `<ds:Reference URI="${uri}"><ds:Transforms>${xpath}${form}</ds:Transforms><ds:DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"/><ds:DigestValue/></ds:Reference>`;
        });
        const template = `<ds:Signature xmlns:ds="${dsig}"><ds:SignedInfo><ds:CanonicalizationMethod Algorithm="${canonicalisationUris.EXC_C14N}"/><ds:SignatureMethod Algorithm="http://www.w3.org/2001/04/xmldsig-more#hmac-sha256"/>${references.join('')}</ds:SignedInfo><ds:SignatureValue/></ds:Signature>`;
        const signed = xml.replace(/<\/[^<>]*>(?![^]*<\/[^<>]*>)/, (endTag) => template + endTag);
        writeFileSync(file, signed);
        const output = execFileSync('xmlsec1', ['--sign', '--hmackey', join(directory, 'secret'), file], {
          encoding: 'utf8',
          stdio: 'pipe',
        });
        const digests = Array.from(output.matchAll(/<ds:DigestValue>([^<]*)</g), ([, digest]) => digest);
        const forms = canonicalForms(
          signed,
          parts.map((part) => ({ ...part, inclusivePrefixes })),
        );
        expect(forms.map((form) => createHash('sha256').update(form).digest('base64'))).toEqual(digests);
      },
    ),
    { numRuns: repetitions(200, 10) },
  );
});

const whole: Selection = { apex: undefined, inclusivePrefixes: [], without: [] };
const joined = (outer: string, inner: string): string => `<r xml:base="${outer}"><e xml:base="${inner}"/></r>`;
const secondElement: Selection = { ...whole, apex: 1 };
const withBase = (base: string | undefined): string => (base === undefined ? '<e></e>' : `<e xml:base="${base}"></e>`);

/**
 * Where libxml2 makes another form than the recommendations of the W3C say. For xml:base, these say
 * RFC 3986 (Canonical XML 1.1, 2.4); libxml2 joins as RFC 2396 did.
 */
test.each([
  {
    why: 'it does not escape the value of a declaration (1.0, 2.3: as an attribute)',
    xml: '<a xmlns="http://example.org/?a&amp;b"/>',
    selection: whole,
    algorithm: 'C14N',
    right: '<a xmlns="http://example.org/?a&amp;b"></a>',
    libxml2: '<a xmlns="http://example.org/?a&b"></a>',
  },
  {
    why: 'it keeps the fragment of a reference',
    xml: joined('a/', 'b#c'),
    selection: secondElement,
    algorithm: 'C14N_11',
    right: withBase('a/b'),
    libxml2: withBase('a/b#c'),
  },
  {
    why: 'it keeps .. above the root of a path (RFC 3986, 5.2.4)',
    xml: joined('http://example.org/a', '../b'),
    selection: secondElement,
    algorithm: 'C14N_11',
    right: withBase('http://example.org/b'),
    libxml2: withBase('http://example.org/../b'),
  },
  {
    why: 'it keeps .. at the end',
    xml: joined('../..', '..'),
    selection: secondElement,
    algorithm: 'C14N_11',
    right: withBase('../../../'),
    libxml2: withBase('../../..'),
  },
  {
    why: 'it joins a reference that is only a query with the directory (RFC 3986, 5.2.2)',
    xml: joined('a/b', '?c'),
    selection: secondElement,
    algorithm: 'C14N_11',
    right: withBase('a/b?c'),
    libxml2: withBase('a/?c'),
  },
  {
    why: 'it does not remove dots from a reference with a scheme or an absolute path',
    xml: joined('a/', '/b/../c'),
    selection: secondElement,
    algorithm: 'C14N_11',
    right: withBase('/c'),
    libxml2: withBase('/b/../c'),
  },
  {
    why: 'it writes . for the directory of the base, instead of nothing',
    xml: joined('a/', '../'),
    selection: secondElement,
    algorithm: 'C14N_11',
    right: withBase(undefined),
    libxml2: withBase('.'),
  },
  {
    why: 'it drops a base that is not a URI, where the recommendation has no such condition',
    xml: joined('a/', 'é'),
    selection: secondElement,
    algorithm: 'C14N_11',
    right: withBase('a/é'),
    libxml2: withBase(undefined),
  },
  {
    why: 'it joins nothing with a base of a scheme without a hierarchy',
    xml: joined('urn:x', 'a'),
    selection: secondElement,
    algorithm: 'C14N_11',
    right: withBase('urn:a'),
    libxml2: withBase('a'),
  },
  {
    why: 'it takes an authority without a scheme for a path',
    xml: joined('//example.org/a', 'b'),
    selection: secondElement,
    algorithm: 'C14N_11',
    right: withBase('//example.org/b'),
    libxml2: withBase('/example.org/b'),
  },
] as const)('libxml2 differs: $why', ({ xml, selection, algorithm, right, libxml2 }) => {
  expect(canonicalForm(xml, { algorithm, ...selection })).toBe(right);
  expect(formOfLibxml2(xml, algorithm, selection)).toBe(libxml2);
});

test('libxml2 refuses a namespace that is not an absolute URI, which the recommendations allow', () => {
  const xml = '<a xmlns="relative"/>';
  expect(canonicalForm(xml, { apex: undefined, algorithm: 'C14N' })).toBe('<a xmlns="relative"></a>');
  expect(() => formOfLibxml2(xml, 'C14N', whole)).toThrow('Failed to canonicalize');
});
