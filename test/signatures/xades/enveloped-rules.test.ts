import { describe, expect, it } from 'vitest';
import { Refusal } from '../../../src/result-codes.ts';
import { checkEarlierSignatures, holdingReferences, stillHold } from '../../../src/signatures/xades/earlier-signatures.ts';
import type { EnvelopedParameters } from '../../../src/signatures/xades/enveloped-state.ts';
import { xadesWorkload } from '../../../src/signatures/xades/xades-workload.ts';
import type { Canonicalisation } from '../../../src/xml/canonicalisation.ts';
import { XmlDocument } from '../../../src/xml/xml-document.ts';
import { envelopedFormat } from '../../../src/signatures/xades/enveloped.ts';
import { chainOf } from '../software-signer.ts';
import { documentNamed, enveloped, envelopedParameters, everywhere, signer } from './xades-signer.ts';

const ds = 'http://www.w3.org/2000/09/xmldsig#';
const refusalOf = (step: () => unknown): readonly [string, string | undefined, string] | undefined => {
  try {
    step();
    return undefined;
  } catch (error) {
    if (error instanceof Refusal) return [error.code, error.at, error.text];
    throw error;
  }
};

describe('the signed element', () => {
  it.each(['Id', 'ID', 'id', 'xml:id'])('is found by its attribute %s, and by no other', (attribute) => {
    const signed = enveloped(`<a><b ${attribute}="one">text</b></a>`, { signedNode: 'one' }).toString();
    expect(signed).toContain('<ds:Reference Id="');
    expect(signed).toMatch(/ URI="#one">/);
    expect(refusalOf(() => enveloped(`<a><b ${attribute}="two"/></a>`, { signedNode: 'one' }))).toEqual([
      'DOCUMENT_INVALID',
      '/parameters/signedNode',
      expect.stringContaining('no element of the document has the Id "one"'),
    ]);
  });

  it('has its Id in an attribute that all validators take for one', () => {
    for (const element of ['<b xmlns:p="u:p" p:Id="one"/>', '<b xmlns:p="u:p" p:id="one"/>'])
      expect(refusalOf(() => enveloped(`<a>${element}</a>`, { signedNode: 'one' }))?.slice(0, 2)).toEqual([
        'DOCUMENT_INVALID',
        '/parameters/signedNode',
      ]);
  });

  it.each<[Canonicalisation, string | undefined, string]>([
    ['EXC_C14N', undefined, ''],
    ['EXC_C14N', 'one', '#one'],
    ['C14N_WITH_COMMENTS', undefined, '#xpointer(/)'],
    ['C14N_WITH_COMMENTS', 'one', "#xpointer(id('one'))"],
  ])('by %s and the Id %s is named by the URI %s', (algorithm, signedNode, uri) => {
    const signed = enveloped('<a><b Id="one">text</b></a>', { signedNode, canonicalisation: everywhere(algorithm) });
    expect(signed.toString()).toContain(` URI="${uri}"><ds:Transforms>`);
  });
});

describe('the filter of a caller', () => {
  const declared = (
    expression: string,
    namespaces: Readonly<Record<string, string>>,
    more: Partial<EnvelopedParameters> = {},
  ): string[] => {
    const document = '<d:a xmlns:d="urn:d" xmlns:e="urn:e"><b xmlns:inner="urn:inner">text</b></d:a>';
    const signed = enveloped(document, { transformation: { expression, namespaces }, ...more }).toString();
    const [, attributes = ''] = Array.from(signed.matchAll(/<ds:XPath([^>]*)>/g)).at(-1) ?? [];
    return Array.from(attributes.matchAll(/xmlns:(\w+)="([^"]*)"/g), ([, prefix, uri]) => `${String(prefix)}=${String(uri)}`);
  };

  it('has the prefixes that it uses, of the document and of the caller, and no others', () => {
    expect(declared('ancestor-or-self::d:a', {})).toEqual(['d=urn:d']);
    expect(declared('ancestor-or-self::own:a or true()', { own: 'urn:own', other: 'urn:other' })).toEqual(['own=urn:own']);
    expect(declared('true() and not(self::d:x)', {})).toEqual(['d=urn:d']);
    expect(declared('not(self::d:x) and not(ancestor::e:y)', {})).toEqual(['d=urn:d', 'e=urn:e']);
    expect(declared('true()', { own: 'urn:own' })).toEqual([]);
  });

  it('has those in scope where the signature is, and the caller can bind them to others', () => {
    const position = { expression: '//b', namespaces: {} };
    expect(declared('true() or self::inner:x', {}, { position })).toEqual(['inner=urn:inner']);
    expect(declared('true() or self::d:x', { d: 'urn:mine' })).toEqual(['d=urn:mine']);
    // Behind an element, what it declares is out of scope.
    expect(() => declared('self::inner:x or true()', {}, { position, place: 'NEXT_SIBLING' })).toThrow('prefix');
  });
});

describe('a filter that depends on the signature', () => {
  const prepare = (expression: string): unknown =>
    envelopedFormat.prepare(
      [documentNamed('<a><!-- c -->text</a>')],
      envelopedParameters({ transformation: { expression, namespaces: {} } }),
      chainOf(signer),
      { now: new Date() },
    );

  it.each(['not(//ds:Signature)', 'count(//*) < 5', 'string-length(//ds:SignatureValue) != 4', 'string-length(//ds:SignatureValue) < 6'])(
    'is refused before a key is used: %s',
    (expression) => {
      expect(refusalOf(() => prepare(expression))).toEqual([
        'DOCUMENT_INVALID',
        '/parameters/xpathTransformation',
        'the XPath expression selects something else once the signature is in the document',
      ]);
    },
  );

  it('is taken where it selects the same', () => {
    expect(refusalOf(() => prepare('not(//ds:Signature) or true()'))).toBeUndefined();
  });
});

describe('comments of a document', () => {
  it.each<[Canonicalisation, boolean]>([
    ['EXC_C14N', false],
    ['EXC_C14N_WITH_COMMENTS', true],
    ['C14N', false],
    ['C14N_11_WITH_COMMENTS', true],
  ])('by %s are signed: %s', (algorithm, areSigned) => {
    const signed = enveloped('<a><!-- c -->text</a>', { canonicalisation: everywhere(algorithm) }).toString();
    using changed = XmlDocument.parse(Buffer.from(signed.replace('<!-- c -->', '<!-- d -->')));
    expect(holdingReferences(changed)).toEqual([[!areSigned, true]]);
  });
});

describe('Canonical XML 1.1', () => {
  const based = '<r xml:base="http://example.org/a"><e Id="one">text</e></r>';
  const only = (part: 'contents' | 'properties' | 'signedInfo'): EnvelopedParameters['canonicalisation'] => ({
    ...everywhere('EXC_C14N'),
    [part]: 'C14N_11',
  });
  const position = { expression: '//e', namespaces: {} };

  it.each<[string, string, Partial<EnvelopedParameters>]>([
    ['of a signed element', based, { signedNode: 'one', canonicalisation: only('contents') }],
    [
      'of a filtered document',
      based,
      { transformation: { expression: 'ancestor-or-self::e', namespaces: {} }, canonicalisation: only('contents') },
    ],
    ['of the properties below a base', based, { position, canonicalisation: only('properties') }],
    ['of SignedInfo below a base', based, { position, canonicalisation: only('signedInfo') }],
    ['of the properties in the root', based, { canonicalisation: only('properties') }],
  ])('is refused where it would join bases: %s', (_what, document, more) => {
    expect(refusalOf(() => enveloped(document, more))).toEqual([
      'DOCUMENT_INVALID',
      '/inputDocuments/0',
      expect.stringContaining('the document has xml:base'),
    ]);
  });

  it.each<[string, string, Partial<EnvelopedParameters>]>([
    ['of the whole document', based, { canonicalisation: only('contents') }],
    ['without a base', based.replace('xml:base', 'base'), { signedNode: 'one', position, canonicalisation: everywhere('C14N_11') }],
    ['of another algorithm', based, { signedNode: 'one', position, canonicalisation: everywhere('C14N') }],
    ['beside the base', '<r><b xml:base="http://a/"/><e/></r>', { position, canonicalisation: only('properties') }],
  ])('is taken elsewhere: %s', (_what, document, more) => {
    expect(refusalOf(() => enveloped(document, more))).toBeUndefined();
  });
});

describe('existing signatures', () => {
  const signature = '<ds:Signature><ds:SignedInfo/></ds:Signature>';
  const many = (count: number): string => `<a xmlns:ds="${ds}">${signature.repeat(count)}</a>`;

  it('are 500 at most', () => {
    using most = XmlDocument.parse(Buffer.from(many(500)));
    expect(holdingReferences(most)).toHaveLength(500);
    using more = XmlDocument.parse(Buffer.from(many(501)));
    for (const look of [() => holdingReferences(more), () => checkEarlierSignatures(more)])
      expect(refusalOf(look)).toEqual(['UNSUPPORTED', undefined, 'a document may have at most 500 signatures']);
  });

  it('are named by their Id or their place where they are refused', () => {
    using first = XmlDocument.parse(Buffer.from(many(2)));
    expect(refusalOf(() => checkEarlierSignatures(first))?.[2]).toMatch(/^signature 1 of the document /);
    const signed = enveloped('<a>text</a>').toString();
    const [, id = ''] = /<ds:Signature [^>]*Id="([^"]*)"/.exec(signed) ?? [];
    using forged = XmlDocument.parse(Buffer.from(signed.replace('>text<', '>forged<')));
    expect(refusalOf(() => checkEarlierSignatures(forged))).toEqual([
      'EXISTING_SIGNATURE_INVALID',
      undefined,
      expect.stringContaining(`the signature "${id}" of the document does not fit the content`),
    ]);
    using sound = XmlDocument.parse(Buffer.from(signed));
    expect(checkEarlierSignatures(sound)).toEqual([]);
    expect(holdingReferences(sound)).toEqual([[true, true]]);
    expect(holdingReferences(sound, id)).toEqual([]);
  });

  it.each<[string, RegExp, string, string]>([
    ['an unknown canonicalisation', /(?<=<ds:CanonicalizationMethod Algorithm=")[^"]*/, 'urn:other', 'has an algorithm that this service'],
    ['an unknown algorithm', /(?<=<ds:SignatureMethod Algorithm=")[^"]*/, 'urn:other', 'has an algorithm that this service does not know'],
    ['an unknown digest', /(?<=<ds:DigestMethod Algorithm=")[^"]*/, 'urn:other', 'has an unknown digest algorithm'],
    ['a certificate that is none', /(?<=<ds:X509Certificate>)[^<]*/, 'MAAA', 'contains no certificate that it binds'],
  ])('are refused with %s', (_what, part, other, message) => {
    const signed = enveloped('<a>text</a>').toString();
    expect(() => enveloped(signed.replace(part, other), { validates: true })).toThrow(message);
  });

  it('by ECDSA has a value of two numbers of the same length', () => {
    const signed = enveloped('<a>text</a>').toString();
    for (const value of ['', 'AQ==', 'AQID'])
      expect(() => enveloped(signed.replace(/(?<=<ds:SignatureValue[^>]*>)[^<]*/, value), { validates: true })).toThrow(
        'has a value of the wrong length',
      );
    for (const value of ['AQI=', 'AQIDBA==', Buffer.alloc(64).toString('base64'), Buffer.alloc(200, 1).toString('base64')])
      expect(() => enveloped(signed.replace(/(?<=<ds:SignatureValue[^>]*>)[^<]*/, value), { validates: true })).toThrow(
        'does not verify under its certificate',
      );
  });

  it('sign elements in the Object of another signature only from within that signature', () => {
    const inner = enveloped('<doc><Part Id="p1">text</Part></doc>', { signedNode: 'p1' }).toString();
    const held = (inside: string, outside: string): readonly (readonly boolean[])[] => {
      // Of another name, since what is in a ds:Signature is left out.
      const outer = `<own><SignedInfo xmlns="${ds}"/><ds:Object xmlns:ds="${ds}">${inside}</ds:Object></own>`;
      using document = XmlDocument.parse(Buffer.from(`<all>${outer}${outside}</all>`));
      return holdingReferences(document);
    };
    expect(held(inner, '')).toEqual([[], [true, true]]);
    expect(held('', inner)).toEqual([[], [true, true]]);
    const part = '<Part Id="p1">text</Part>';
    expect(held(part, inner.replace(part, ''))).toEqual([[], [false, true]]);
  });

  it('still hold if each reference that held does', () => {
    expect(stillHold([], [])).toBe(true);
    expect(stillHold([[true, false]], [[true, false]])).toBe(true);
    expect(stillHold([[true, false]], [[true, true]])).toBe(true);
    expect(stillHold([[true, false]], [[false, false]])).toBe(false);
    expect(stillHold([[true], [true]], [[true]])).toBe(false);
    expect(stillHold([[true]], [[true], [true]])).toBe(false);
    expect(stillHold([[true, true]], [[true]])).toBe(false);
  });
});

describe('the work of XML', () => {
  const isRisky = (text: string | Uint8Array): boolean | undefined => xadesWorkload().isRisky?.(Buffer.from(text));

  it('is done in a thread from 16 KiB on, or if it may take long', () => {
    expect(xadesWorkload()).toMatchObject({ threadBeyondBytes: 16 * 1024, lane: 'parsing' });
    const declarations = (count: number): string => `<a ${Array.from({ length: count }, (_, index) => `xmlns:n${index}="u"`).join(' ')}/>`;
    expect([isRisky('<a/>'), isRisky(declarations(8)), isRisky(declarations(9))]).toEqual([false, false, true]);
    expect([isRisky('<SignedInfo/>'), isRisky('<p:SignedInfo/>'), isRisky('<Signed/>')]).toEqual([true, true, false]);
    expect(isRisky(Buffer.from('<a/>', 'utf16le'))).toBe(true);
  });

  it('with an XPath of the caller is always done in one, for half a minute at most', () => {
    expect(xadesWorkload('/at')).toEqual({
      ...{ threadBeyondBytes: 0, lane: 'parsing' },
      deadline: { ms: 30_000, at: '/at', message: expect.stringContaining('takes too long') as unknown },
    });
  });
});
